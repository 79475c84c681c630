"""Draw the icons of the installed application from the SVG: python docs/make_icons.py.

The script needs Chromium with its driver.
"""

import base64
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.browsing import Browser

STATIC = Path(__file__).parents[1] / "src" / "dicent" / "web" / "static"
ICONS = {"180": (180, False), "192": (192, False), "512": (512, False), "maskable-512": (512, True)}


def main() -> None:
    browser = Browser()
    drawing = base64.b64encode((STATIC / "icon.svg").read_bytes()).decode()
    try:
        for name, (size, maskable) in ICONS.items():
            ground = "#2b6cb0" if maskable else "transparent"  # systems cut maskable icons to their shapes
            style = f"margin: 0; width: {size}px; height: {size}px; background: {ground}"
            image = f"<img width={size} height={size} src='data:image/svg+xml;base64,{drawing}'>"
            browser.look(600, 600)
            browser.driver.get("about:blank")
            browser.driver.execute_script(
                "document.body.style = arguments[0]; document.body.innerHTML = arguments[1]", style, image
            )
            browser.driver.execute_async_script(
                "document.images[0].decode().then(() => requestAnimationFrame(arguments[0]))"
            )
            browser.driver.execute_cdp_cmd(
                "Emulation.setDefaultBackgroundColorOverride", {"color": {"r": 0, "g": 0, "b": 0, "a": 0}}
            )
            clip = {"x": 0, "y": 0, "width": size, "height": size, "scale": 1}
            shot = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "format": "png"})
            (STATIC / "icons").mkdir(exist_ok=True)
            (STATIC / "icons" / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
    finally:
        browser.driver.quit()


if __name__ == "__main__":
    main()
