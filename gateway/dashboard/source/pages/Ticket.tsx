// One ticket: what is to be done, for whom, with comments, crashes and history.

import { useState } from "react";
import type { Ticket } from "../../generated/api";
import { callTagged, request } from "../api/client";
import { Problem } from "../api/problem";
import { callIn, given, usePlace } from "../shell/place";
import { Badge, Button, Link, Menu, PageHead, sayProblem, Section, Show } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { Choice, Form, TextField } from "../system/form";
import { lazy } from "../system/lazy";
import { useLoad } from "../system/load";
import { go } from "../system/router";
import { say } from "../system/toast";
import { ago, t } from "../text";
import { withPresent } from "./Crash";
import { options, priorities, statuses, types } from "./TicketWords";
import { Talk } from "./TicketTalk";

const Links = lazy(async () => (await import("./TicketLinks")).Links);
const Labels = lazy(async () => (await import("./TicketLinks")).Labels);
const TicketFiles = lazy(async () => (await import("./TicketFiles")).TicketFiles);

export function TicketPage({ number }: { number: string }) {
  const place = usePlace();
  const path = { app: place.app.id, ticket: number };
  const loaded = useLoad(
    () => callTagged("GET /admin/apps/{app}/tickets/{ticket}", { path, environment: place.environment }),
    [number, place.environment]
  );
  const people = useLoad(
    async () =>
      (await request("GET /admin/apps/{app}/tickets/people", given(place))).body.data as { id: string; name: string }[],
    [place.app.id]
  );
  const sprints = useLoad(
    async () => (await callIn(place, "GET /admin/apps/{app}/tickets/sprints", { query: { limit: 50 } })).data ?? [],
    [place.app.id]
  );
  const [dialog, ask] = useConfirm();
  const canUpdate = place.may("tickets", "update");
  const [isEditing, setEditing] = useState(false);
  const patch = async (body: object, tag = loaded.data?.tag ?? "*") => {
    try {
      const changed = await request("PATCH /admin/apps/{app}/tickets/{ticket}", {
        path,
        environment: place.environment,
        body,
        headers: { "if-match": tag }
      });
      loaded.reload();
      return changed;
    } catch (error) {
      if (error instanceof Problem && error.status === 412) loaded.reload();
      throw error;
    }
  };
  const change = (body: object) => {
    const old = loaded.data?.body as Record<string, unknown> | undefined;
    const former = Object.fromEntries(Object.keys(body).map((name) => [name, old?.[name] ?? null]));
    patch(body).then(
      ({ tag }) => say(t("Saved"), { undo: tag ? () => void patch(former, tag).catch(sayProblem) : undefined }),
      sayProblem
    );
  };
  return (
    <div className="page">
      <Show from={loaded} lines={8}>
        {({ body: ticket }) => (
          <>
            <PageHead
              title={ticket.title}
              back={{ to: place.to("tickets"), title: t("Tickets") }}
              note={<>{ticket.key} · {t("created {when}", { when: ticket.created ? ago(ticket.created) : "" })}</>}>
              {canUpdate && !isEditing && <Button onPress={() => setEditing(true)}>{t("Edit")}</Button>}
              <Menu
                label={t("More")}
                items={[{
                  title: t("Delete"),
                  isDanger: true,
                  isHidden: !place.may("tickets", "delete"),
                  act: () =>
                    ask({
                      title: t("Delete {name}?", { name: ticket.key ?? "" }),
                      action: t("Delete"),
                      text: t("It stays in the bin for 30 days and can be restored until then."),
                      act: async () => {
                        await callIn(place, "DELETE /admin/apps/{app}/tickets/{ticket}", { path: { ticket: number } });
                        say(t("{key} is in the bin", { key: ticket.key ?? "" }), {
                          undo: () =>
                            void callIn(place, "POST /admin/apps/{app}/tickets/{ticket}/restore", {
                              path: { ticket: number }
                            }).then(() => go(place.to("tickets/" + number)))
                        });
                        go(place.to("tickets"));
                      }
                    })
                }]} />
            </PageHead>
            <div className="split">
              <div className="stack-large">
                {isEditing ?
                  <Edit ticket={ticket} close={() => setEditing(false)} save={patch} /> :
                  ticket.description ?
                  <p className="prose">{ticket.description}</p> :
                  <p className="faint">{t("No description.")}</p>}
                {ticket.feedback ?
                  (
                    <Section title={t("What the user wrote")}>
                      <p className="prose">{(ticket.feedback as { message?: string }).message}</p>
                    </Section>
                  ) :
                  null}
                {(ticket.issues?.length ?? 0) > 0 && (
                  <Section title={t("Crashes")}>
                    {ticket.issues?.map((issue: any) => (
                      <p key={issue.number} className="row">
                        <Link to={place.to("crashes/" + issue.number)}>#{issue.number} {issue.title}</Link>
                        {issue.state && <Badge>{issue.state}</Badge>}
                      </p>
                    ))}
                  </Section>
                )}
                <Links ticket={ticket} canUpdate={canUpdate} changed={loaded.reload} />
                <TicketFiles ticket={number} files={(ticket.attachments ?? []) as any[]} changed={loaded.reload} />
                <Talk number={number} revision={loaded.data?.tag} people={people.data ?? []} />
              </div>
              <aside className="stack">
                <Choice
                  label={t("Status")}
                  value={ticket.status ?? "todo"}
                  isDisabled={!canUpdate}
                  options={options(statuses)}
                  change={(status) => change({ status })} />
                <Choice
                  label={t("Priority")}
                  value={ticket.priority ?? "medium"}
                  isDisabled={!canUpdate}
                  options={options(priorities)}
                  change={(priority) => change({ priority })} />
                <Choice
                  label={t("Type")}
                  value={ticket.type ?? "task"}
                  isDisabled={!canUpdate}
                  options={options(types)}
                  change={(type) => change({ type })} />
                <Choice
                  label={t("Assignee")}
                  value={(ticket.assignee as string | null) ?? ""}
                  isDisabled={!canUpdate}
                  change={(assignee) => change({ assignee: assignee || null })}
                  options={[
                    { value: "", title: t("Nobody") },
                    ...withPresent(people.data ?? [], ticket.assignee, ticket.assigneeName).map((one) => ({
                      value: one.id,
                      title: one.name
                    }))
                  ]} />
                <Choice
                  label={t("Sprint")}
                  value={ticket.sprint == null ? "" : String(ticket.sprint)}
                  isDisabled={!canUpdate}
                  change={(sprint) => change({ sprint: sprint ? Number(sprint) : null })}
                  options={[
                    { value: "", title: t("Backlog") },
                    ...(sprints.data ?? []).map((one) => ({ value: String(one.number), title: one.name ?? "" }))
                  ]} />
                <Choice
                  label={t("Version")}
                  value={ticket.appVersion ?? ""}
                  isDisabled={!canUpdate}
                  change={(appVersion) => change({ appVersion: appVersion || null })}
                  options={[
                    { value: "", title: t("None") },
                    ...[...new Set([...(ticket.appVersion ? [ticket.appVersion] : []), ...place.versions])].map((
                      one
                    ) => ({
                      value: one,
                      title: one
                    }))
                  ]} />
                <Labels ticket={ticket} canUpdate={canUpdate} change={(labels) => change({ labels })} />
                {ticket.isBlocked && (
                  <p>
                    <Badge tone="warning">{t("blocked")}</Badge>
                  </p>
                )}
              </aside>
            </div>
          </>
        )}
      </Show>
      {dialog}
    </div>
  );
}

function Edit(
  { ticket, close, save }: { ticket: Ticket; close: () => void; save: (body: object) => Promise<unknown> }
) {
  const [title, setTitle] = useState(ticket.title ?? "");
  const [description, setDescription] = useState(ticket.description ?? "");
  const [estimate, setEstimate] = useState(ticket.estimate == null ? "" : String(ticket.estimate));
  const send = async () => {
    await save({ title, description, estimate: estimate === "" ? null : Number(estimate) });
    close();
  };
  return (
    <Form send={send} action={t("Save")} cancel={close}>
      <TextField label={t("Title")} value={title} change={setTitle} isRequired autoFocus />
      <TextField label={t("Description")} value={description} change={setDescription} lines={8} isOptional />
      <TextField label={t("Estimate")} type="number" value={estimate} change={setEstimate} isOptional />
    </Form>
  );
}
