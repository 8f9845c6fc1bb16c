import { useState } from "react";
import type { Staff, StaffRights } from "../../generated/api";
import { call } from "../api/client";
import { may, session } from "../api/session";
import { Badge, Button, Link, PageHead, Section, Show } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { Check, errorOf, Form, TextField } from "../system/form";
import { lazy } from "../system/lazy";
import { useLoad } from "../system/load";
import { go } from "../system/router";
import { say } from "../system/toast";
import { t, time } from "../text";
import { RightsGrid } from "./Rights";

const StaffIdentities = lazy(async () => (await import("./StaffIdentities")).StaffIdentities);

export function MemberPage({ id }: { id: string }) {
  const member = useLoad(() => call("GET /admin/staff/{id}", { path: { id } }), [id]);
  const apps = useLoad(() => call("GET /admin/apps", { query: { limit: 100 } }), []);
  const [dialog, ask] = useConfirm();
  const canUpdate = may("staff", "update");
  const patch = async (body: object) => member.show(await call("PATCH /admin/staff/{id}", { path: { id }, body }));
  return (
    <div className="page">
      <Show from={member}>
        {(data) => (
          <>
            <PageHead
              title={<>{data.userName} {data.disabled && <Badge tone="bad">{t("Disabled")}</Badge>}</>}
              back={{ to: "/staff", title: t("Staff") }}
              note={data.lastSignIn ?
                t("Last sign-in {when}", { when: time(data.lastSignIn) }) :
                t("Has not signed in yet")}>
              {may("audit", "read") && <Link className="button" to={"/audit?staff=" + id}>{t("What they did")}</Link>}
              {canUpdate && data.id !== session.member()?.id && (
                <Button onPress={() => patch({ disabled: !data.disabled })}>
                  {data.disabled ? t("Enable") : t("Disable")}
                </Button>
              )}
              {may("staff", "delete") && data.id !== session.member()?.id && (
                <Button
                  kind="danger"
                  onPress={() =>
                    ask({
                      title: t("Remove {name}?", { name: data.userName }),
                      action: t("Remove"),
                      typed: data.userName,
                      text: t("Their sessions end at once. The audit log keeps what they did."),
                      act: async () => {
                        await call("DELETE /admin/staff/{id}", { path: { id } });
                        go("/staff");
                      }
                    })}>
                  {t("Remove")}
                </Button>
              )}
            </PageHead>
            <Show from={apps}>
              {(found) => (
                <MemberForm
                  key={data.updated}
                  member={data}
                  apps={found.data}
                  saved={member.show}
                  canUpdate={canUpdate} />
              )}
            </Show>
            <StaffIdentities member={data} canUpdate={canUpdate} changed={member.show} />
            {canUpdate && (
              <Section title={t("Security")}>
                <div className="row">
                  <Button
                    onPress={async () => {
                      await patch({ mustReset: true });
                      say(t("They must choose a new password."));
                    }}
                    isDisabled={data.mustReset}>
                    {t("Ask for a new password")}
                  </Button>
                  <Button
                    onPress={async () => {
                      await call("DELETE /admin/staff/{id}/sessions", { path: { id } });
                      say(t("Signed out everywhere."));
                    }}>
                    {t("Sign out everywhere")}
                  </Button>
                  {data.secondFactor && (
                    <Button
                      kind="danger"
                      onPress={() =>
                        ask({
                          title: t("Remove the second factor?"),
                          action: t("Remove"),
                          text: t("Only for somebody who has lost their device and their recovery codes."),
                          act: async () => {
                            await call("DELETE /admin/staff/{id}/totp", { path: { id } });
                            member.reload();
                          }
                        })}>
                      {t("Remove second factor")}
                    </Button>
                  )}
                </div>
              </Section>
            )}
          </>
        )}
      </Show>
      {dialog}
    </div>
  );
}

function MemberForm(
  { member, apps, saved, canUpdate }: {
    member: Staff;
    apps: { id: string; name: string }[];
    saved: (member: Staff) => void;
    canUpdate: boolean;
  }
) {
  const [userName, setUserName] = useState(member.userName);
  const [firstName, setFirstName] = useState(member.firstName ?? "");
  const [lastName, setLastName] = useState(member.lastName ?? "");
  const [email, setEmail] = useState((member.email as string | null) ?? "");
  const [isAdministrator, setAdministrator] = useState(member.isAdministrator);
  const [rights, setRights] = useState<StaffRights>(member.rights);
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    const administrator = isAdministrator !== member.isAdministrator ? { isAdministrator } : {};
    saved(
      await call("PATCH /admin/staff/{id}", {
        path: { id: member.id },
        body: {
          userName,
          firstName: firstName || null,
          lastName: lastName || null,
          email: email || null,
          rights,
          ...administrator
        }
      })
    );
    say(t("Saved"));
  };
  return (
    <div className="form-page" style={{ maxWidth: 720 }}>
      <Form send={send} action={t("Save")} isReadOnly={!canUpdate} fields={["userName", "email"]} report={report}>
        <div className="pair">
          <TextField
            label={t("User name")}
            value={userName}
            change={setUserName}
            isRequired
            isDisabled={!canUpdate}
            error={errorOf("userName", problem)} />
          <TextField
            label={t("Mail address")}
            type="email"
            value={email}
            change={setEmail}
            isOptional
            isDisabled={!canUpdate}
            error={errorOf("email", problem)} />
        </div>
        <div className="pair">
          <TextField
            label={t("First name")}
            value={firstName}
            change={setFirstName}
            isOptional
            isDisabled={!canUpdate}
            maximumLength={100} />
          <TextField
            label={t("Last name")}
            value={lastName}
            change={setLastName}
            isOptional
            isDisabled={!canUpdate}
            maximumLength={100} />
        </div>
        <Check
          label={t("Administrator")}
          value={isAdministrator}
          change={setAdministrator}
          isDisabled={!session.member()?.isAdministrator}
          hint={t("May do everything, also with other administrators.")} />
        {!isAdministrator && <RightsGrid rights={rights} change={setRights} apps={apps} isReadOnly={!canUpdate} />}
      </Form>
    </div>
  );
}
