import { useState } from "react";
import type { Staff, StaffRights } from "../../generated/api";
import { call } from "../api/client";
import { may, session } from "../api/session";
import { Badge, Button, Copy, Empty, Link, Notice, PageHead, Show, Tabs } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Check, errorOf, Form, TextField } from "../system/form";
import { lazy } from "../system/lazy";
import { useLoad, usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { ago, plural, t } from "../text";
import { RightsGrid } from "./Rights";
import { SignIns } from "./SignIns";

const StaffProviders = lazy(async () => (await import("./StaffProviders")).StaffProviders);

export function StaffPage() {
  const { query } = useAddress();
  const tab = (["sign-ins", "providers"] as const).find((one) => one === query.get("tab")) ?? "people";
  const [isNew, setNew] = useState(false);
  const [turn, setTurn] = useState(0);
  return (
    <div className="page">
      <PageHead title={t("Staff")} note={t("The people who run the server and work on its apps.")}>
        {may("staff", "create") && (
          <Button kind="primary" icon="plus" onPress={() => setNew(true)}>{t("Invite")}</Button>
        )}
      </PageHead>
      <Tabs
        label={t("Views")}
        current={tab}
        choose={(next) => setQuery({ tab: next === "people" ? "" : next })}
        tabs={[
          { name: "people", title: t("People") },
          { name: "sign-ins", title: t("Sign-ins by month") },
          { name: "providers", title: t("Providers") }
        ]} />
      {tab === "sign-ins" ? <SignIns /> : tab === "providers" ? <StaffProviders /> : <Members key={turn} />}
      {isNew && <Invite close={() => setNew(false)} made={() => setTurn(turn + 1)} />}
    </div>
  );
}

function Members() {
  const list = usePages<Staff>((after) => call("GET /admin/staff", { query: { after, limit: 50 } }), []);
  return (
    <Show from={list}>
      {(rows) => (
        <Table
          label={t("Staff")}
          rows={rows}
          id={(member) => member.id}
          to={(member) => "/staff/" + member.id}
          hasMore={list.hasMore}
          more={list.more}
          empty={<Empty icon="staff" title={t("Nobody yet")} />}
          columns={[
            {
              name: "name",
              title: t("Name"),
              cell: (member) => (
                <>
                  <Link to={"/staff/" + member.id}>{member.userName}</Link>{" "}
                  <span className="soft">{[member.firstName, member.lastName].filter(Boolean).join(" ")}</span>
                </>
              )
            },
            { name: "rights", title: t("Rights"), cell: (member) => <span className="soft">{summary(member)}</span> },
            {
              name: "state",
              title: "",
              width: "170px",
              cell: (member) => (
                <span className="row">
                  {member.disabled && <Badge tone="bad">{t("Disabled")}</Badge>}
                  {member.mustReset && <Badge tone="warning">{t("New password due")}</Badge>}
                </span>
              )
            },
            {
              name: "factor",
              title: t("Second factor"),
              width: "130px",
              isExtra: true,
              cell: (member) =>
                member.secondFactor ? <Badge tone="good">{t("On")}</Badge> : <span className="faint">{t("Off")}</span>
            },
            {
              name: "seen",
              title: t("Last sign-in"),
              width: "140px",
              isExtra: true,
              cell: (member) => <span className="soft">{member.lastSignIn ? ago(member.lastSignIn) : t("never")}</span>
            }
          ]} />
      )}
    </Show>
  );
}

function summary(member: Staff): string {
  if (member.isAdministrator) return t("Administrator");
  const rights = Object.entries(member.rights as Record<string, Record<string, string[]>>);
  if (rights.length === 0) return t("No rights");
  const everywhere = rights.some(([app]) => app === "*");
  return everywhere ? t("In every app") : plural(rights.length, "In {n} app", "In {n} apps");
}

function Invite({ close, made }: { close: () => void; made: () => void }) {
  const [userName, setUserName] = useState("");
  const [firstName, setFirstName] = useState("");
  const [lastName, setLastName] = useState("");
  const [email, setEmail] = useState("");
  const [isAdministrator, setAdministrator] = useState(false);
  const [rights, setRights] = useState<StaffRights>({});
  const [problem, report] = useState<unknown>(undefined);
  const [password, setPassword] = useState("");
  const apps = useLoad(() => call("GET /admin/apps", { query: { limit: 100 } }), []);
  const send = async () => {
    const answer = (await call("POST /admin/staff", {
      body: {
        userName,
        firstName: firstName || null,
        lastName: lastName || null,
        email: email || null,
        isAdministrator,
        rights: isAdministrator ? {} : rights
      }
    })) as { password?: string };
    setPassword(answer.password ?? "");
    made();
  };
  if (password) {
    return (
      <Dialog title={t("{name} can sign in", { name: userName })} close={close}>
        <Notice tone="warning">
          {t("Pass on this password. It is shown only once and must be changed at the first sign-in.")}
        </Notice>
        <span className="secret">
          <code>{password}</code>
          <Copy text={password} />
        </span>
        <footer>
          <Button kind="primary" onPress={close}>{t("Done")}</Button>
        </footer>
      </Dialog>
    );
  }
  return (
    <Dialog title={t("Invite a colleague")} close={close} isWide>
      <Form send={send} action={t("Invite")} cancel={close} fields={["userName", "email"]} report={report}>
        <div className="pair">
          <TextField
            label={t("User name")}
            value={userName}
            change={setUserName}
            isRequired
            autoFocus
            error={errorOf("userName", problem)} />
          <TextField
            label={t("Mail address")}
            type="email"
            value={email}
            change={setEmail}
            isOptional
            hint={t("For alerts. Nothing is sent now.")}
            error={errorOf("email", problem)} />
        </div>
        <div className="pair">
          <TextField label={t("First name")} value={firstName} change={setFirstName} isOptional maximumLength={100} />
          <TextField label={t("Last name")} value={lastName} change={setLastName} isOptional maximumLength={100} />
        </div>
        {session.member()?.isAdministrator && (
          <Check
            label={t("Administrator")}
            value={isAdministrator}
            change={setAdministrator}
            hint={t("May do everything, also with other administrators.")} />
        )}
        {!isAdministrator && (
          <Show from={apps}>{(found) => <RightsGrid rights={rights} change={setRights} apps={found.data} />}</Show>
        )}
      </Form>
    </Dialog>
  );
}
