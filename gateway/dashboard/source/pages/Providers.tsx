// Sign-in with Apple, Google and other providers of identities.

import type { IdentityProvider } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Empty, Menu, Section, Show } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { useLoad } from "../system/load";
import { useOpened } from "../system/opened";
import { Table } from "../system/table";
import { t } from "../text";
import { kinds, ProviderDialog } from "./ProviderDialog";

export function Providers() {
  const place = usePlace();
  const list = useLoad(
    () => callIn(place, "GET /admin/apps/{app}/auth/providers"),
    [place.app.id, place.environment]
  );
  const [edited, edit] = useOpened<IdentityProvider>(list.data?.data, (one) => one.name);
  const [dialog, ask] = useConfirm();
  const remove = (provider: IdentityProvider) =>
    ask({
      title: t("Remove {name}?", { name: provider.name }),
      action: t("Remove"),
      text: t("Users keep their accounts, but cannot sign in through it until it is set up again."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/auth/providers/{name}", { path: { name: provider.name } });
        list.reload();
      }
    });
  return (
    <Section
      note={t("Secrets are stored encrypted and never shown again.")}
      actions={place.may("users", "update") && (
        <Button icon="plus" onPress={() => edit("new")}>{t("New provider")}</Button>
      )}>
      <Show from={list}>
        {(found) => (
          <Table
            label={t("Providers")}
            rows={found.data ?? []}
            id={(one) => one.name}
            open={edit}
            empty={
              <Empty icon="keys" title={t("No providers yet")}>
                {t("Let people sign in with Apple, Google, GitHub, Facebook or any OpenID Connect provider.")}
              </Empty>
            }
            columns={[
              {
                name: "name",
                title: t("Name"),
                cell: (one) => <button type="button" className="link" onClick={() => edit(one)}>{one.name}</button>
              },
              { name: "kind", title: t("Kind"), width: "150px", isExtra: true, cell: (one) => kinds[one.kind] },
              {
                name: "clients",
                title: t("Client ids"),
                isExtra: true,
                cell: (one) => <span className="soft" title={one.clientIDs.join(", ")}>{one.clientIDs.join(", ")}</span>
              },
              {
                name: "secret",
                title: t("Secret"),
                width: "110px",
                cell: (one) => one.hasSecret ? <Badge tone="good">{t("Stored")}</Badge> : <Badge>{t("none")}</Badge>
              },
              {
                name: "menu",
                title: "",
                width: "56px",
                cell: (one) => (
                  <Menu
                    label={t("More about {name}", { name: one.name })}
                    items={[{
                      title: t("Remove"),
                      isDanger: true,
                      isHidden: !place.may("users", "delete"),
                      act: () => remove(one)
                    }]} />
                )
              }
            ]} />
        )}
      </Show>
      {edited && (
        <ProviderDialog
          stored={edited === "new" ? null : edited}
          close={() => edit(null)}
          done={() => {
            edit(null);
            list.reload();
          }} />
      )}
      {dialog}
    </Section>
  );
}
