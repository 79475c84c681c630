declare const htm: { bind(h: (...given: any[]) => any): (texts: TemplateStringsArray, ...values: any[]) => any };
export default htm;
