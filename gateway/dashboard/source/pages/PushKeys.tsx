// The keys that push messages are sent with.

import { useState } from "react";
import type { PushCredential } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Badge, Button, Menu, Section, Show } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { errorOf, Form, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { t, Text } from "../text";

const services: Record<string, { title: string; about: Text }> = {
  apns: { title: "Apple (APNs)", about: "A key file (.p8) from Apple's developer portal." },
  fcm: { title: "Google (FCM)", about: "A service account from the Firebase console, as JSON." },
  webpush: { title: "Web Push", about: "For browsers. Martlet creates the key; you give a contact." }
};

export function Credentials() {
  const place = usePlace();
  const list = useLoad(() => callIn(place, "GET /admin/apps/{app}/notifications/credentials"), [
    place.app.id,
    place.environment
  ]);
  const [edited, edit] = useState<string | null>(null);
  const [dialog, ask] = useConfirm();
  const canUpdate = place.may("notifications", "update");
  return (
    <Section note={t("Each environment has keys of its own. Secrets are stored encrypted and never shown again.")}>
      <Show from={list}>
        {(found) => (
          <Table
            label={t("Push keys")}
            id={(one) => one.kind}
            rows={Object.keys(services).map((kind) => ({
              kind,
              stored: found.data?.find((one) => one.kind === kind) as PushCredential | undefined
            }))}
            columns={[
              {
                name: "kind",
                title: t("Service"),
                cell: (one) => (
                  <span className="two-lines">
                    <span className="strong">{services[one.kind]?.title}</span>
                    <span className="faint">
                      {t(services[one.kind]?.about ?? "For browsers. Martlet creates the key; you give a contact.")}
                    </span>
                  </span>
                )
              },
              {
                name: "state",
                title: t("State"),
                width: "140px",
                cell: (one) =>
                  !one.stored ?
                    <Badge>{t("Not set up")}</Badge> :
                    one.stored.broken ?
                    <Badge tone="bad">{t("Refused")}</Badge> :
                    <Badge tone="good">{t("Ready")}</Badge>
              },
              {
                name: "about",
                title: t("Key"),
                isExtra: true,
                cell: (one) => (
                  <span className="soft">
                    {one.stored &&
                      [one.stored.keyId, one.stored.teamId, one.stored.projectId, one.stored.subject].filter(Boolean)
                        .join(" · ")}
                  </span>
                )
              },
              {
                name: "act",
                title: "",
                width: "150px",
                cell: (one) =>
                  canUpdate && (
                    <span className="row">
                      <Button isSmall onPress={() => edit(one.kind)}>{one.stored ? t("Replace") : t("Set up")}</Button>
                      <Menu
                        label={t("More")}
                        items={[{
                          title: t("Remove"),
                          isDanger: true,
                          isHidden: !one.stored || !place.may("notifications", "delete"),
                          act: () =>
                            ask({
                              title: t("Remove this push key?"),
                              action: t("Remove"),
                              text: t("Nothing more is sent through this service."),
                              act: async () => {
                                await callIn(place, "DELETE /admin/apps/{app}/notifications/credentials/{kind}", {
                                  path: { kind: one.kind }
                                });
                                list.reload();
                              }
                            })
                        }]} />
                    </span>
                  )
              }
            ]} />
        )}
      </Show>
      {edited && (
        <CredentialForm
          kind={edited}
          close={() => edit(null)}
          done={() => {
            edit(null);
            list.reload();
            say(t("Saved"));
          }} />
      )}
      {dialog}
    </Section>
  );
}

function CredentialForm({ kind, close, done }: { kind: string; close: () => void; done: () => void }) {
  const place = usePlace();
  const [values, setValues] = useState<Record<string, string>>({});
  const [problem, report] = useState<unknown>(undefined);
  const field = (name: string, label: string, more: object = {}) => (
    <TextField
      key={name}
      label={label}
      value={values[name] ?? ""}
      change={(next) => setValues({ ...values, [name]: next })}
      isRequired
      error={errorOf(name, problem)}
      {...more} />
  );
  const send = async () => {
    const body = kind === "apns" ?
      {
        key: values["key"],
        keyId: values["keyId"],
        teamId: values["teamId"],
        bundleIds: (values["bundleIds"] ?? "").split(/[\s,]+/).filter(Boolean)
      } :
      kind === "fcm" ?
      { serviceAccount: JSON.parse(values["serviceAccount"] ?? "{}") } :
      { subject: values["subject"] };
    await callIn(place, "PUT /admin/apps/{app}/notifications/credentials/{kind}", { path: { kind }, body });
    done();
  };
  return (
    <Dialog title={services[kind]?.title ?? kind} close={close}>
      <Form
        send={send}
        action={t("Save")}
        cancel={close}
        report={report}
        fields={["key", "keyId", "teamId", "bundleIds", "serviceAccount", "subject"]}>
        {kind === "apns" &&
          [
            field("key", t("Contents of the key file"), {
              lines: 5,
              isCode: true,
              autoFocus: true,
              placeholder: "-----BEGIN PRIVATE KEY-----"
            }),
            field("keyId", t("Key id"), { isCode: true, placeholder: "ABCDE12345" }),
            field("teamId", t("Team id"), { isCode: true }),
            field("bundleIds", t("Bundle ids"), { isCode: true })
          ]}
        {kind === "fcm" && field("serviceAccount", t("Service account"), { lines: 8, isCode: true, autoFocus: true })}
        {kind === "webpush" &&
          field("subject", t("Contact"), { autoFocus: true, placeholder: "mailto:push@example.com" })}
      </Form>
    </Dialog>
  );
}
