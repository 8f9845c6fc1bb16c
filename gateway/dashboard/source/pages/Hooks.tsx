// Hooks: calls to the app's own server before or after a change, and functions that clients call.

import { useState } from "react";
import type { Hook } from "../../generated/api";
import { callIn, given, usePlace } from "../shell/place";
import { request } from "../api/client";
import { Badge, Button, Copy, Empty, Link, Notice, PageHead, Show } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Check, Choice, errorOf, Form, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { Table } from "../system/table";
import { t, Text } from "../text";

export const events: Record<Hook["event"], Text> = {
  beforeSave: "Before an object is stored",
  afterSave: "After an object was stored",
  beforeDelete: "Before an object is deleted",
  afterDelete: "After an object was deleted",
  function: "Function that clients call",
  scanFile: "Before a file can be read"
};

export function HooksPage() {
  const place = usePlace();
  const list = useLoad(
    async () => (await request("GET /admin/apps/{app}/hooks", given(place))).body as { data: Hook[] },
    [place.app.id, place.environment]
  );
  const [isNew, setNew] = useState(false);
  return (
    <div className="page">
      <PageHead
        title={t("Hooks")}
        note={t("Calls to your own server when objects change, and functions that clients call.")}>
        {place.may("storage", "update") && (
          <Button kind="primary" icon="plus" onPress={() => setNew(true)}>{t("New hook")}</Button>
        )}
      </PageHead>
      <Show from={list}>
        {(found) => (
          <Table
            label={t("Hooks")}
            rows={found.data}
            id={(hook) => hook.name ?? ""}
            to={(hook) => place.to("hooks/" + hook.name)}
            empty={
              <Empty icon="link" title={t("No hooks yet")}>
                {t("A hook before a change can refuse or modify it; a hook after a change is notified of it.")}
              </Empty>
            }
            columns={[
              {
                name: "name",
                title: t("Name"),
                cell: (hook) => <Link to={place.to("hooks/" + hook.name)}>{hook.name}</Link>
              },
              { name: "event", title: t("When"), width: "230px", cell: (hook) => t(events[hook.event]) },
              { name: "collection", title: t("Collection"), width: "140px", cell: (hook) => hook.collection },
              {
                name: "url",
                title: t("Address"),
                isExtra: true,
                cell: (hook) => <span className="soft" title={hook.url}>{hook.url}</span>
              },
              {
                name: "state",
                title: "",
                width: "100px",
                cell: (hook) => hook.enabled === false && <Badge tone="warning">{t("off")}</Badge>
              }
            ]} />
        )}
      </Show>
      {isNew && (
        <HookDialog
          hook={null}
          close={() => setNew(false)}
          done={list.reload} />
      )}
    </div>
  );
}

/** Makes or changes a hook. The secret of a new one is shown once. */
export function HookDialog({ hook, close, done }: { hook: Hook | null; close: () => void; done: () => void }) {
  const place = usePlace();
  const [name, setName] = useState(hook?.name ?? "");
  const [event, setEvent] = useState<Hook["event"]>(hook?.event ?? "afterSave");
  const [collection, setCollection] = useState(hook?.collection ?? "");
  const [url, setURL] = useState(hook?.url ?? "");
  const [milliseconds, setMilliseconds] = useState(String(hook?.timeoutMilliseconds ?? 5000));
  const [callers, setCallers] = useState(hook?.callers?.join(", ") ?? "");
  const [isEnabled, setEnabled] = useState(hook?.enabled ?? true);
  const [secret, setSecret] = useState("");
  const [problem, report] = useState<unknown>(undefined);
  const isFunction = event === "function";
  const hasCollection = !isFunction && event !== "scanFile";
  const send = async () => {
    const answer = await callIn(place, "PUT /admin/apps/{app}/hooks/{name}", {
      path: { name },
      body: {
        event,
        url,
        timeoutMilliseconds: Number(milliseconds),
        enabled: isEnabled,
        ...(isFunction && { callers: callers.split(/[\s,]+/).filter(Boolean) }),
        ...(hasCollection && { collection })
      }
    });
    done();
    if ("secret" in answer && typeof answer.secret === "string") setSecret(answer.secret);
    else close();
  };
  if (secret) return <SecretDialog secret={secret} close={close} />;
  return (
    <Dialog title={hook?.name ?? t("New hook")} close={close}>
      <Form
        send={send}
        action={t("Save")}
        cancel={close}
        report={report}
        fields={["name", "url", "collection", "timeoutMilliseconds", "callers"]}>
        {!hook && (
          <TextField
            label={t("Name")}
            value={name}
            change={setName}
            isRequired
            isCode
            autoFocus
            placeholder="thank-finder"
            error={errorOf("name", problem)} />
        )}
        <Choice
          label={t("When")}
          value={event}
          change={setEvent}
          options={(Object.keys(events) as Hook["event"][]).map((one) => ({ value: one, title: t(events[one]) }))} />
        {isFunction && (
          <TextField
            label={t("Callers")}
            value={callers}
            change={setCallers}
            isCode
            isOptional
            placeholder="authenticated, role:staff"
            error={errorOf("callers", problem)} />
        )}
        {hasCollection && (
          <TextField
            label={t("Collection")}
            value={collection}
            change={setCollection}
            isCode
            isRequired
            error={errorOf("collection", problem)} />
        )}
        <TextField
          label={t("Address")}
          type="url"
          value={url}
          change={setURL}
          isRequired
          isCode
          placeholder="https://example.org/hook"
          hint={t("An https address on the public internet.")}
          error={errorOf("url", problem)} />
        <TextField
          label={t("Longest wait, in milliseconds")}
          type="number"
          value={milliseconds}
          change={setMilliseconds}
          error={errorOf("timeoutMilliseconds", problem)} />
        <Check label={t("Turned on")} value={isEnabled} change={setEnabled} />
      </Form>
    </Dialog>
  );
}

export function SecretDialog(
  { secret, close, title, note }: { secret: string; close: () => void; title?: string; note?: string }
) {
  return (
    <Dialog title={title ?? t("The hook's secret")} close={close}>
      <Notice tone="warning">
        {note ?? t("Your server uses it to check that a call comes from here. It is shown only once.")}
      </Notice>
      <span className="secret">
        <code>{secret}</code>
        <Copy text={secret} />
      </span>
      <footer>
        <Button kind="primary" onPress={close}>{t("Done")}</Button>
      </footer>
    </Dialog>
  );
}
