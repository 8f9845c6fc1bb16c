// Who did something, as the server stores it: `staff:<id>`, `key:<id>`, `client` or `service`.

import { t } from "../text";

/** @param name The name of the member of staff, if it is known. */
export function nameOfAuthor(by: string | undefined, name: string | null | undefined): string {
  if (name) return name;
  if (by?.startsWith("staff:")) return t("a member of staff");
  if (by?.startsWith("key:")) return t("the app's server");
  if (by === "client") return t("a user");
  return by === "service" ? t("Martlet") : by ?? "";
}
