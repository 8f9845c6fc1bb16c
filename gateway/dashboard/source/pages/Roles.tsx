// Roles of an app's users, with their members.

import { useState } from "react";
import { request } from "../api/client";
import { callIn, given, usePlace } from "../shell/place";
import { Button, Empty, sayProblem, Section, Show } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { Form, TextField } from "../system/form";
import { useLoad, usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { number, t } from "../text";

interface Role {
  name: string;
  members: number;
}

const pageSize = 100;

export function Roles() {
  const place = usePlace();
  const list = usePages<Role>(async (after) => {
    const answer = await request("GET /admin/apps/{app}/roles", { ...given(place), query: { after, limit: pageSize } });
    const { data } = answer.body as { data: Role[] };
    return { data, next: data.length === pageSize ? data[pageSize - 1]?.name : undefined };
  }, [place.app.id, place.environment]);
  const shown = useAddress().query.get("role") ?? "";
  const show = (name: string) => setQuery({ role: name });
  const [isNew, setNew] = useState(false);
  const canUpdate = place.may("users", "update");
  return (
    <Section
      note={t("Rules name roles; the members of a role may do what these rules allow.")}
      actions={canUpdate && <Button icon="plus" onPress={() => setNew(true)}>{t("New role")}</Button>}>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Roles")}
            rows={rows}
            id={(role) => role.name}
            open={(role) => show(role.name)}
            hasMore={list.hasMore}
            more={list.more}
            empty={<Empty icon="users" title={t("No roles yet")} />}
            columns={[
              {
                name: "name",
                title: t("Name"),
                cell: (role) => (
                  <button type="button" className="link" onClick={() => show(role.name)}>{role.name}</button>
                )
              },
              {
                name: "members",
                title: t("Members"),
                width: "120px",
                isNumber: true,
                cell: (role) => number(role.members)
              }
            ]} />
        )}
      </Show>
      {isNew && (
        <NewRole
          close={() => setNew(false)}
          made={(name) => {
            list.reload();
            setNew(false);
            show(name);
          }} />
      )}
      {shown && <RoleDialog key={shown} name={shown} close={() => show("")} changed={list.reload} />}
    </Section>
  );
}

function NewRole({ close, made }: { close: () => void; made: (name: string) => void }) {
  const place = usePlace();
  const [name, setName] = useState("");
  const send = async () => {
    await callIn(place, "PUT /admin/apps/{app}/roles/{role}", { path: { role: name }, body: { add: [] } });
    made(name);
  };
  return (
    <Dialog title={t("New role")} close={close}>
      <Form send={send} action={t("Create")} cancel={close}>
        <TextField label={t("Name")} value={name} change={setName} isRequired autoFocus maximumLength={64} />
      </Form>
    </Dialog>
  );
}

function RoleDialog({ name, close, changed }: { name: string; close: () => void; changed: () => void }) {
  const place = usePlace();
  const [member, setMember] = useState("");
  const [dialog, ask] = useConfirm();
  const canUpdate = place.may("users", "update");
  const role = useLoad(
    async () =>
      (await request("GET /admin/apps/{app}/roles/{role}", { ...given(place, { role: name }), query: { limit: 1000 } }))
        .body as { members: string[] },
    [place.app.id, place.environment, name]
  );
  const change = async (body: { add?: string[]; remove?: string[] }) => {
    await callIn(place, "PUT /admin/apps/{app}/roles/{role}", { path: { role: name }, body });
    setMember("");
    role.reload();
    changed();
  };
  const leave = async (one: string) => {
    await change({ remove: [one] });
    say(t("Removed"), { undo: () => void change({ add: [one] }).catch(sayProblem) });
  };
  const remove = () =>
    ask({
      title: t("Delete {name}?", { name }),
      action: t("Delete"),
      typed: name,
      text: t("All its members lose it at once."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/roles/{role}", { path: { role: name } });
        say(t("Deleted"));
        changed();
        close();
      }
    });
  return (
    <Dialog title={name} close={close} isWide>
      {canUpdate && (
        <Form send={() => change({ add: [member.trim()] })} action={t("Add")} isDisabled={!member.trim()}>
          <TextField label={t("Id of a user, or role:name")} value={member} change={setMember} isCode />
        </Form>
      )}
      <Show from={role} lines={2}>
        {(data) => (
          <Table
            label={t("Members")}
            rows={data.members}
            id={(one) => one}
            empty={<p className="faint">{t("Nobody has this role.")}</p>}
            columns={[
              { name: "id", title: t("Member"), cell: (one) => <code>{one}</code> },
              {
                name: "act",
                title: "",
                width: "130px",
                cell: (one) =>
                  canUpdate && <Button isSmall onPress={() => leave(one)}>{t("Remove")}</Button>
              }
            ]} />
        )}
      </Show>
      {place.may("users", "delete") && (
        <footer>
          <Button kind="danger" onPress={remove}>{t("Delete")}</Button>
        </footer>
      )}
      {dialog}
    </Dialog>
  );
}
