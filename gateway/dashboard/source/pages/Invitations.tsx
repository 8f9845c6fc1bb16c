// Invitations to sign up: by mail, or as a code to hand on.

import { useState } from "react";
import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Copy, Empty, Notice, Section, Show } from "../system/basics";
import { Dialog } from "../system/dialog";
import { errorOf, Form, TextField } from "../system/form";
import { usePages } from "../system/load";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, t, time } from "../text";

interface Invitation {
  id: string;
  email: string | null;
  created: string;
  expires: string;
  used: string | null;
}

export function Invitations() {
  const place = usePlace();
  const list = usePages<Invitation>(
    (before) => callIn(place, "GET /admin/apps/{app}/auth/invitations", { query: { before, limit: 50 } }),
    [place.app.id, place.environment]
  );
  const [isNew, setNew] = useState(false);
  const withdraw = async (one: Invitation) => {
    await callIn(place, "DELETE /admin/apps/{app}/auth/invitations/{id}", { path: { id: one.id } });
    list.reload();
  };
  const isOpen = (one: Invitation) => !one.used && new Date(one.expires) > new Date();
  return (
    <Section
      note={t("They are needed only where the rules ask for one, and can be used once.")}
      actions={place.may("users", "create") && (
        <Button icon="plus" onPress={() => setNew(true)}>{t("New invitation")}</Button>
      )}>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Invitations")}
            rows={rows}
            id={(one) => one.id}
            hasMore={list.hasMore}
            more={list.more}
            empty={<Empty icon="mail" title={t("No invitations yet")} />}
            columns={[
              {
                name: "email",
                title: t("For"),
                cell: (one) => one.email ?? <span className="faint">{t("whoever has the code")}</span>
              },
              {
                name: "state",
                title: t("State"),
                width: "120px",
                cell: (one) =>
                  one.used ?
                    <Badge tone="good">{t("Used")}</Badge> :
                    isOpen(one) ?
                    <Badge tone="accent">{t("Open")}</Badge> :
                    <Badge>{t("Expired")}</Badge>
              },
              {
                name: "created",
                title: t("Created"),
                width: "140px",
                isExtra: true,
                cell: (one) => <span className="soft" title={time(one.created)}>{ago(one.created)}</span>
              },
              {
                name: "expires",
                title: t("Valid until"),
                width: "190px",
                isExtra: true,
                cell: (one) => <span className="soft">{time(one.expires)}</span>
              },
              {
                name: "act",
                title: "",
                width: "120px",
                cell: (one) =>
                  isOpen(one) && place.may("users", "delete") && (
                    <Button isSmall onPress={() => withdraw(one)}>{t("Withdraw")}</Button>
                  )
              }
            ]} />
        )}
      </Show>
      {isNew && <NewInvitation close={() => setNew(false)} done={list.reload} />}
    </Section>
  );
}

function NewInvitation({ close, done }: { close: () => void; done: () => void }) {
  const place = usePlace();
  const [email, setEmail] = useState("");
  const [days, setDays] = useState("7");
  const [code, setCode] = useState("");
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    const made = await callIn(place, "POST /admin/apps/{app}/auth/invitations", {
      body: { email: email || undefined, days: Number(days) }
    });
    done();
    if (typeof made["code"] === "string") return setCode(made["code"]);
    say(t("The invitation is on its way."));
    close();
  };
  if (code) {
    return (
      <Dialog title={t("The invitation's code")} close={close}>
        <Notice tone="warning">{t("Whoever has it can sign up with it once. It is shown only once.")}</Notice>
        <span className="secret">
          <code>{code}</code>
          <Copy text={code} />
        </span>
        <footer>
          <Button kind="primary" onPress={close}>{t("Done")}</Button>
        </footer>
      </Dialog>
    );
  }
  return (
    <Dialog title={t("New invitation")} close={close}>
      <Form send={send} action={t("Invite")} cancel={close} fields={["email", "days"]} report={report}>
        <TextField
          label={t("Mail address")}
          type="email"
          value={email}
          change={setEmail}
          isOptional
          autoFocus
          hint={t("With an address, the code is sent by mail. Without one, it is shown here.")}
          error={errorOf("email", problem)} />
        <TextField
          label={t("Valid for how many days")}
          type="number"
          value={days}
          change={setDays}
          isRequired
          error={errorOf("days", problem)} />
      </Form>
    </Dialog>
  );
}
