// The test environment: filled with a copy of live, opened to clients, emptied.

import { useState } from "react";
import type { Job } from "../../generated/api";
import { callIn, usePlace } from "../shell/place";
import { Button, Notice } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { useInterval } from "../system/load";
import { say } from "../system/toast";
import { t } from "../text";
import { isOpen, Outcome, Progress } from "./Jobs";

export function TestEnvironmentDialog({ close, changed }: { close: () => void; changed: () => void }) {
  const place = usePlace();
  const [job, setJob] = useState<Job | null>(null);
  const [dialog, ask] = useConfirm();
  const isRunning = job !== null && isOpen(job);
  const read = async () => {
    if (!job || !isRunning) return;
    setJob(await callIn(place, "GET /admin/apps/{app}/jobs/{id}", { path: { id: job.id } }));
    changed();
  };
  useInterval(() => void read().catch(() => undefined), 1);
  const copy = () =>
    ask({
      title: t("Replace the test data with a copy of live?"),
      action: t("Copy"),
      typed: place.app.name,
      text: t("All test data is lost. Clients cannot reach the copy until you open the test environment."),
      act: async () => {
        setJob(await callIn(place, "POST /admin/apps/{app}/environment/copy"));
        changed();
      }
    });
  const open = async (isOpenNow: boolean) => {
    await callIn(place, "PUT /admin/apps/{app}/environment", { body: { open: isOpenNow } });
    say(isOpenNow ? t("The test environment is open to clients.") : t("The test environment is closed to clients."));
  };
  const wipe = () =>
    ask({
      title: t("Empty the test environment?"),
      action: t("Empty it"),
      typed: place.app.name,
      text: t("All of its objects, rules and files will be deleted for good. Its users stay."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/environment");
        say(t("The test environment is empty."));
      }
    });
  return (
    <Dialog title={t("Test environment")} close={close} isWide>
      <p className="note">
        {t("A copy brings the live data to test; there is no way back from test to live.")}
      </p>
      {job && (
        <div className="stack" aria-live="polite">
          <div className="row">
            <span className="strong">{t("Copy to test")}</span>
            {isRunning ? <Progress job={job} /> : null}
          </div>
          {job.state === "done" && <Notice tone="good">{t("The copy is finished.")}</Notice>}
          <Outcome job={job} />
        </div>
      )}
      <footer>
        {place.may("storage", "delete") && <Button kind="danger" onPress={wipe}>{t("Empty it…")}</Button>}
        {place.may("storage", "update") && (
          <>
            <Button onPress={() => open(false)}>{t("Close to clients")}</Button>
            <Button onPress={() => open(true)}>{t("Open to clients")}</Button>
            <Button kind="primary" isDisabled={isRunning} onPress={copy}>{t("Copy live to test…")}</Button>
          </>
        )}
      </footer>
      {dialog}
    </Dialog>
  );
}
