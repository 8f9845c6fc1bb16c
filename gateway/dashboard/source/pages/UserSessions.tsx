// Where a user of the app is signed in.

import { callIn, usePlace } from "../shell/place";
import { Button, Section, Show } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { useLoad } from "../system/load";
import { Table } from "../system/table";
import { ago, plural, t } from "../text";

export function UserSessions({ id }: { id: string }) {
  const place = usePlace();
  const [dialog, ask] = useConfirm();
  const path = { id };
  const list = useLoad(
    () => callIn(place, "GET /admin/apps/{app}/auth/users/{id}/sessions", { path }),
    [place.app.id, place.environment, id]
  );
  const end = () =>
    ask({
      title: t("Sign this user out everywhere?"),
      action: t("Sign out everywhere"),
      text: t("The user can sign in again. To prevent it, disable the user."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/auth/users/{id}/sessions", { path });
        list.reload();
      }
    });
  const count = list.data?.data.length ?? 0;
  return (
    <Section
      title={t("Sessions")}
      note={list.data && plural(count, "{n} session", "{n} sessions")}
      actions={place.may("users", "update") && count > 0 && <Button onPress={end}>{t("Sign out everywhere")}</Button>}>
      <Show from={list} lines={2}>
        {(found) => (
          <Table
            label={t("Sessions")}
            rows={found.data}
            id={(one) => one.id ?? ""}
            empty={<p className="faint">{t("Not signed in anywhere.")}</p>}
            columns={[
              { name: "device", title: t("Device"), cell: (one) => one.device || t("unknown") },
              {
                name: "begun",
                title: t("Begun"),
                width: "150px",
                isExtra: true,
                cell: (one) => <span className="soft">{one.created && ago(one.created)}</span>
              },
              {
                name: "used",
                title: t("Last used"),
                width: "150px",
                cell: (one) => <span className="soft">{one.lastUsed && ago(one.lastUsed)}</span>
              }
            ]} />
        )}
      </Show>
      {dialog}
    </Section>
  );
}
