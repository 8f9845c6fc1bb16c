// Who may do what: areas × actions, for one app at a time or for all.

import { useState } from "react";
import type { StaffRights } from "../../generated/api";
import { Action, Area, may } from "../api/session";
import { Choice } from "../system/form";
import { t, Text } from "../text";

const areas: { area: Area; title: Text; isOfServer?: boolean }[] = [
  { area: "applications", title: "Apps, versions and keys" },
  { area: "storage", title: "Storage" },
  { area: "users", title: "Users" },
  { area: "config", title: "Remote configuration and flags" },
  { area: "experiments", title: "A/B tests" },
  { area: "languages", title: "Languages" },
  { area: "analytics", title: "Analytics" },
  { area: "crashes", title: "Crashes" },
  { area: "tickets", title: "Tickets" },
  { area: "notifications", title: "Push and mail" },
  { area: "staff", title: "Staff", isOfServer: true },
  { area: "audit", title: "Audit log", isOfServer: true },
  { area: "status", title: "Status", isOfServer: true }
];
const actions: { action: Action; title: Text }[] = [
  { action: "read", title: "Read" },
  { action: "create", title: "Create" },
  { action: "update", title: "Change" },
  { action: "delete", title: "Delete" }
];

type Rights = Record<string, Record<string, Action[]>>;

export function RightsGrid(
  { rights, change, apps, isReadOnly }: {
    rights: StaffRights;
    change: (rights: StaffRights) => void;
    apps: { id: string; name: string }[];
    isReadOnly?: boolean;
  }
) {
  const all = rights as Rights;
  const [scope, setScope] = useState(Object.keys(all)[0] ?? "*");
  const mine = all[scope] ?? {};
  const set = (area: Area, action: Action, isOn: boolean) => {
    const old = mine[area] ?? [];
    // Whoever may change something may also see it.
    const next = isOn ?
      [...new Set([...old, action, "read" as Action])] :
      action === "read" ?
      [] :
      old.filter((one) => one !== action);
    const areasOfScope = { ...mine, [area]: next };
    if (next.length === 0) delete areasOfScope[area];
    const result = { ...all, [scope]: areasOfScope };
    if (Object.keys(areasOfScope).length === 0) delete result[scope];
    change(result as StaffRights);
  };
  const count = (name: string) => (all[name] ? " •" : "");
  return (
    <div className="stack">
      <Choice
        label={t("Rights in")}
        value={scope}
        change={setScope}
        hint={t("A dot marks apps with rights. Rights in every app add to those of each.")}
        options={[
          { value: "*", title: t("Every app, and the server") + count("*") },
          ...apps.map((app) => ({ value: app.id, title: app.name + count(app.id) }))
        ]} />
      <div className="table grid-table">
        <table aria-label={t("Rights")}>
          <thead>
            <tr>
              <th scope="col">{t("Area")}</th>
              {actions.map((one) => <th key={one.action} scope="col" className="center">{t(one.title)}</th>)}
            </tr>
          </thead>
          <tbody>
            {areas.filter((one) => scope === "*" || !one.isOfServer).map(({ area, title }) => (
              <tr key={area}>
                <th scope="row">{t(title)}</th>
                {actions.map(({ action, title: name }) => (
                  <td key={action} className="tick">
                    <label>
                      <input
                        type="checkbox"
                        checked={mine[area]?.includes(action) ?? false}
                        aria-label={`${t(title)}: ${t(name)}`}
                        disabled={isReadOnly || !may(area, action, scope === "*" ? undefined : scope)}
                        onChange={(event) => set(area, action, event.currentTarget.checked)} />
                    </label>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
