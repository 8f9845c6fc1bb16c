/** The field that the server's error names, such as `rules.read[0].who`, as a JSON Pointer. */
export function pointerOf(field: string | undefined): string {
  if (!field) return "";
  if (field.startsWith("/")) return field;
  return "/" +
    field.replace(/\[(\d+)\]/g, ".$1").split(".").map((part) => part.replace(/~/g, "~0").replace(/\//g, "~1")).join(
      "/"
    );
}
