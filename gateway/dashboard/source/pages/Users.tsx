// The people who use an app.

import { useState } from "react";
import type { User } from "../../generated/api";
import { download, request } from "../api/client";
import { may } from "../api/session";
import { given, usePlace } from "../shell/place";
import { Badge, Button, Copy, Empty, Link, Menu, Notice, PageHead, Section, Show, Tabs } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { errorOf, Form, TextField } from "../system/form";
import { JSONEditor, parse, pretty } from "../system/json";
import { lazy } from "../system/lazy";
import { useLoad, usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, day, t, time } from "../text";
import { historyOf } from "./Audit";
import { UserSessions } from "./UserSessions";

const Roles = lazy(async () => (await import("./Roles")).Roles);

const base = "/admin/apps/{app}/auth/users";

export function UsersPage() {
  const { query } = useAddress();
  const tab = query.get("tab") === "roles" ? "roles" : "users";
  return (
    <div className="page">
      <PageHead title={t("Users")} note={t("The people who use the app, in this environment.")} />
      <Tabs
        label={t("Views")}
        current={tab}
        choose={(next) => setQuery({ tab: next === "users" ? "" : next, find: "" })}
        tabs={[{ name: "users", title: t("Users") }, { name: "roles", title: t("Roles") }]} />
      {tab === "roles" ? <Roles /> : <People />}
    </div>
  );
}

function People() {
  const place = usePlace();
  const { query } = useAddress();
  const asked = query.get("find") ?? "";
  const [text, setText] = useState(asked);
  const isMail = asked.includes("@");
  const list = usePages<User>(
    async (after) =>
      (await request("GET " + base, {
        ...given(place),
        query: { after, limit: 50, userName: asked && !isMail ? asked : undefined, email: isMail ? asked : undefined }
      })).body,
    [place.app.id, place.environment, asked]
  );
  return (
    <div className="stack">
      <div className="toolbar">
        <span className="grow">
          <input
            type="search"
            value={text}
            placeholder={t("User name or mail address")}
            aria-label={t("User name or mail address")}
            onChange={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Enter" && setQuery({ find: text.trim() })}
            onBlur={() => setQuery({ find: text.trim() })} />
        </span>
      </div>
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Users")}
            rows={rows}
            id={(user) => user.id}
            to={(user) => place.to("users/" + user.id)}
            hasMore={list.hasMore}
            more={list.more}
            empty={
              <Empty
                icon="users"
                title={asked ? t("Nobody has this name or address") : t("Nobody has signed up yet")} />
            }
            columns={[
              {
                name: "name",
                title: t("Name"),
                cell: (user) => <Link to={place.to("users/" + user.id)}>{nameOf(user)}</Link>
              },
              {
                name: "email",
                title: t("Mail address"),
                cell: (user) => <span className="soft">{user.email as string | null}</span>
              },
              {
                name: "state",
                title: "",
                width: "190px",
                cell: (user) => (
                  <span className="row" style={{ flexWrap: "nowrap" }}>
                    {user.isAnonymous && <Badge>{t("Anonymous")}</Badge>}
                    {user.emailVerified && <Badge tone="good">{t("Verified")}</Badge>}
                    {user.disabled && <Badge tone="bad">{t("Disabled")}</Badge>}
                  </span>
                )
              },
              {
                name: "created",
                title: t("Signed up"),
                width: "140px",
                isExtra: true,
                cell: (user) => <span className="soft">{user.created && day(user.created)}</span>
              },
              {
                name: "seen",
                title: t("Last sign-in"),
                width: "140px",
                isExtra: true,
                cell: (user) => <span className="soft">{user.lastSignIn && ago(user.lastSignIn)}</span>
              }
            ]} />
        )}
      </Show>
    </div>
  );
}

function nameOf(user: User): string {
  const profile = user.profile as { name?: unknown };
  return (user.userName as string | null) ?? (typeof profile.name === "string" ? profile.name : null) ??
    (user.email as string | null) ?? user.id.slice(0, 8);
}

export function UserPage({ id }: { id: string }) {
  const place = usePlace();
  const user = useLoad(async () => (await request(`GET ${base}/{id}`, given(place, { id }))).body as User, [
    place.app.id,
    place.environment,
    id
  ]);
  const [dialog, ask] = useConfirm();
  const [receipt, setReceipt] = useState<{ id?: string } | null>(null);
  const canUpdate = place.may("users", "update");
  const patch = async (body: object) =>
    user.show((await request(`PATCH ${base}/{id}`, { ...given(place, { id }), body })).body);
  const exportData = async () => {
    let state = (await request(`POST ${base}/{id}/export`, given(place, { id }))).body as { state: string };
    for (let turn = 0; turn < 60 && state.state !== "done"; turn++) {
      if (state.state === "failed") throw new Error(t("The export failed."));
      await new Promise((resolve) => setTimeout(resolve, 1000));
      state = (await request(`GET ${base}/{id}/export`, given(place, { id }))).body;
    }
    await download(`GET ${base}/{id}/export/content`, given(place, { id }), `user-${id}.jsonl`);
  };
  return (
    <div className="page">
      <Show from={user}>
        {(data) => (
          <>
            <PageHead
              title={<>{nameOf(data)} {data.disabled && <Badge tone="bad">{t("Disabled")}</Badge>}</>}
              back={{ to: place.to("users"), title: t("Users") }}
              note={
                <>
                  <code>{data.id}</code> <Copy text={data.id} />
                </>
              }>
              <Button icon="download" onPress={exportData}>{t("Export")}</Button>
              {canUpdate && (
                <Button onPress={() => patch({ disabled: !data.disabled })}>
                  {data.disabled ? t("Enable") : t("Disable")}
                </Button>
              )}
              {place.may("users", "delete") && (
                <Button
                  kind="danger"
                  onPress={() =>
                    ask({
                      title: t("Erase this user?"),
                      action: t("Erase"),
                      typed: nameOf(data),
                      text: t(
                        "The account and all its data, in every part of the server. This cannot be undone."
                      ),
                      act: async () => setReceipt((await request(`DELETE ${base}/{id}`, given(place, { id }))).body)
                    })}>
                  {t("Erase")}
                </Button>
              )}
              <Menu
                label={t("More")}
                items={[
                  {
                    title: t("Remove second factor"),
                    isDanger: true,
                    isHidden: !canUpdate || !data.secondFactor,
                    act: () =>
                      ask({
                        title: t("Remove the second factor?"),
                        action: t("Remove"),
                        text: t("Only for somebody who has lost their device and their recovery codes."),
                        act: async () => {
                          await request(`DELETE ${base}/{id}/totp`, given(place, { id }));
                          user.reload();
                        }
                      })
                  },
                  {
                    title: t("Remove passkeys"),
                    isDanger: true,
                    isHidden: !canUpdate,
                    act: () =>
                      ask({
                        title: t("Remove all passkeys?"),
                        action: t("Remove"),
                        text: t("For a lost or stolen device. Without a password, the user then needs one from you."),
                        act: async () => {
                          await request(`DELETE ${base}/{id}/passkeys`, given(place, { id }));
                          say(t("Removed"));
                        }
                      })
                  }
                ]} />
            </PageHead>
            {receipt && (
              <Notice tone="good">{t("The user is being erased. Receipt {id}.", { id: receipt.id ?? "" })}</Notice>
            )}
            <div className="split">
              <UserForm key={data.updated} user={data} patch={patch} canUpdate={canUpdate} />
              <dl className="facts">
                <dt>{t("Signed up")}</dt>
                <dd>{data.created && time(data.created)}</dd>
                <dt>{t("Last sign-in")}</dt>
                <dd>{data.lastSignIn ? ago(data.lastSignIn) : t("never")}</dd>
                <dt>{t("Second factor")}</dt>
                <dd>{data.secondFactor ? t("On") : t("Off")}</dd>
                <dt>{t("Mail address")}</dt>
                <dd>
                  {data.emailVerified ? <Badge tone="good">{t("Verified")}</Badge> : <Badge>{t("Not verified")}</Badge>}
                </dd>
                {may("audit", "read") && (
                  <>
                    <dt>{t("Changes by staff")}</dt>
                    <dd>
                      <Link to={historyOf({ area: "users", app: place.app.id, target: id })}>
                        {t("In the audit log")}
                      </Link>
                    </dd>
                  </>
                )}
              </dl>
            </div>
            <UserSessions id={id} />
          </>
        )}
      </Show>
      {dialog}
    </div>
  );
}

function UserForm(
  { user, patch, canUpdate }: { user: User; patch: (body: object) => Promise<void>; canUpdate: boolean }
) {
  const [userName, setUserName] = useState((user.userName as string | null) ?? "");
  const [email, setEmail] = useState((user.email as string | null) ?? "");
  const [profile, setProfile] = useState(pretty(user.profile));
  const [problem, report] = useState<unknown>(undefined);
  const parsed = parse(profile);
  const send = async () => {
    const changes = {
      ...(userName !== ((user.userName as string | null) ?? "") ? { userName } : {}),
      ...(email !== ((user.email as string | null) ?? "") ? { email } : {}),
      ...(profile !== pretty(user.profile) ? { profile: parsed.value } : {})
    };
    if (Object.keys(changes).length > 0) await patch(changes);
    say(t("Saved"));
  };
  return (
    <Form
      send={send}
      action={t("Save")}
      isReadOnly={!canUpdate}
      isDisabled={parsed.error !== undefined}
      fields={["userName", "email"]}
      report={report}>
      <div className="pair">
        <TextField
          label={t("User name")}
          value={userName}
          change={setUserName}
          isDisabled={!canUpdate}
          error={errorOf("userName", problem)} />
        <TextField
          label={t("Mail address")}
          type="email"
          value={email}
          change={setEmail}
          isDisabled={!canUpdate}
          error={errorOf("email", problem)} />
      </div>
      <Section title={t("Profile")}>
        <JSONEditor label={t("Profile")} text={profile} change={setProfile} isReadOnly={!canUpdate} />
      </Section>
    </Form>
  );
}
