// What users reported to the app's moderators.

import { useState } from "react";
import type { ObjectReport } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Button, Empty, Link, PageHead, Segmented, Show } from "../system/basics";
import { Dialog } from "../system/dialog";
import { Choice, Form, TextField } from "../system/form";
import { usePages } from "../system/load";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, plural, t, time } from "../text";

const pageSize = 100;

export function ModerationPage() {
  const place = usePlace();
  const { query } = useAddress();
  const state = query.get("state") === "resolved" ? "resolved" : "open";
  const list = usePages<ObjectReport>(async (after) => {
    const answer = await callIn(place, "GET /admin/apps/{app}/reports", { query: { state, after, limit: pageSize } });
    const { data } = answer as unknown as { data: ObjectReport[] };
    return { data, next: data.length === pageSize ? data[pageSize - 1]?.id : undefined };
  }, [place.app.id, place.environment, state]);
  const [resolved, resolve] = useState<ObjectReport | null>(null);
  const addressOf = (report: ObjectReport) => {
    const id = encodeURIComponent(report.object ?? "");
    return place.to(report.collection === "_User" ? "users/" + id : `storage/${report.collection}/${id}`);
  };
  return (
    <div className="page">
      <PageHead title={t("Moderation")} note={t("Objects and people that users of the app have reported.")} />
      <Segmented
        label={t("State")}
        value={state}
        choose={(next) => setQuery({ state: next === "open" ? "" : next })}
        options={[{ name: "open", title: t("Open") }, { name: "resolved", title: t("Resolved") }]} />
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Moderation")}
            rows={rows}
            id={(report) => report.id ?? ""}
            hasMore={list.hasMore}
            more={list.more}
            empty={
              <Empty icon="check" title={state === "open" ? t("Nothing to decide") : t("Nothing was decided yet")}>
                {t("A user reports an object with POST …/report; it is listed here until somebody resolves it.")}
              </Empty>
            }
            columns={[
              {
                name: "object",
                title: t("Object"),
                width: "240px",
                cell: (report) => <Link to={addressOf(report)}>{report.collection} {report.object}</Link>
              },
              {
                name: "reason",
                title: t("What the user wrote"),
                cell: (report) => <span title={report.reason}>{report.reason}</span>
              },
              {
                name: "reporter",
                title: t("Reported by"),
                width: "130px",
                isExtra: true,
                cell: (report) => <Link to={place.to("users/" + report.reporter)}>{report.reporter?.slice(0, 8)}</Link>
              },
              {
                name: "created",
                title: t("When"),
                width: "120px",
                isExtra: true,
                cell: (report) => (
                  <span className="soft" title={report.created && time(report.created)}>
                    {report.created && ago(report.created)}
                  </span>
                )
              },
              {
                name: "act",
                title: state === "open" ? "" : t("Decision"),
                width: "150px",
                cell: (report) => (
                  <span className="row">
                    {state === "resolved" && (
                      <span className="soft" title={report.resolution}>{report.resolution || "–"}</span>
                    )}
                    {place.may("storage", "update") && (
                      <Button isSmall onPress={() => resolve(report)}>
                        {state === "open" ? t("Resolve…") : t("Decide again…")}
                      </Button>
                    )}
                  </span>
                )
              }
            ]} />
        )}
      </Show>
      {resolved && (
        <Resolve
          report={resolved}
          close={() => resolve(null)}
          done={() => {
            resolve(null);
            list.reload();
          }} />
      )}
    </div>
  );
}

function Resolve({ report, close, done }: { report: ObjectReport; close: () => void; done: () => void }) {
  const place = usePlace();
  const [resolution, setResolution] = useState("");
  const [action, setAction] = useState("");
  const send = async () => {
    const answer = await callIn(place, "POST /admin/apps/{app}/reports/{id}/resolve", {
      path: { id: report.id ?? "" },
      body: { resolution, ...(action ? { action: action as "hide" | "restore" } : {}) }
    });
    say(plural(answer.resolved, "{n} report resolved", "{n} reports resolved"));
    done();
  };
  return (
    <Dialog title={t("Resolve {name}", { name: report.object ?? "" })} close={close}>
      <Form send={send} action={t("Resolve")} cancel={close}>
        <p className="prose">{report.reason}</p>
        <p className="hint">{t("This closes every open report of the object.")}</p>
        {report.collection !== "_User" && (
          <Choice
            label={t("The object")}
            value={action}
            change={setAction}
            options={[
              { value: "", title: t("stays as it is") },
              { value: "hide", title: t("is hidden from all users") },
              { value: "restore", title: t("is shown again") }
            ]} />
        )}
        <TextField
          label={t("What was decided")}
          value={resolution}
          change={setResolution}
          isOptional
          autoFocus
          lines={3}
          maximumLength={1000} />
      </Form>
    </Dialog>
  );
}
