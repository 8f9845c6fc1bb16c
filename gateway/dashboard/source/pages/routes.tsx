// Which page an address shows. Patterns of `routes` follow /apps/{app}/{environment}/.

import { ReactNode } from "react";
import { lazy } from "../system/lazy";
import { AccountPage } from "./Account";
import { AnalyticsPage } from "./Analytics";
import { AppsPage } from "./Apps";
import { AuditPage } from "./Audit";
import { ConfigurationPage, ConfigurationsPage } from "./Configuration";
import { CrashPage } from "./Crash";
import { CrashesPage } from "./Crashes";
import { DefinitionPage, DefinitionsPage } from "./Definitions";
import { ExperimentPage, ExperimentsPage } from "./Experiments";
import { FilesPage } from "./Files";
import { FlagsPage } from "./Flags";
import { HookPage } from "./HookPage";
import { HooksPage } from "./Hooks";
import { JobsPage } from "./Jobs";
import { LanguagesPage, TranslationPage } from "./Languages";
import { MailPage } from "./Mail";
import { ModerationPage } from "./Moderation";
import { OverviewPage } from "./Overview";
import { MessagePage } from "./PushMessage";
import { PushPage } from "./Push";
import { SettingsPage } from "./Settings";
import { MemberPage } from "./StaffMember";
import { SignInSetupPage } from "./SignInSetup";
import { StaffPage } from "./Staff";
import { StatusPage } from "./Status";
import { RecordPage } from "./Record";
import { StoragePage } from "./Storage";
import { TicketPage } from "./Ticket";
import { TicketsPage } from "./Tickets";
import { UserPage, UsersPage } from "./Users";

const ComposePage = lazy(async () => (await import("./PushCompose")).ComposePage);

type Make = (values: Record<string, string>) => ReactNode;
const value = (values: Record<string, string>, name: string): string => values[name] ?? "";

export const serverRoutes: Record<string, Make> = {
  "/apps": () => <AppsPage />,
  "/staff": () => <StaffPage />,
  "/staff/{id}": (values) => <MemberPage key={value(values, "id")} id={value(values, "id")} />,
  "/audit": () => <AuditPage />,
  "/status": () => <StatusPage />,
  "/account": () => <AccountPage />
};

export const routes: Record<string, Make> = {
  "overview": () => <OverviewPage />,
  "settings": () => <SettingsPage />,
  "storage": () => <StoragePage collection="" />,
  "storage/{collection}": (values) => <StoragePage collection={value(values, "collection")} />,
  "storage/{collection}/{id}": (values) => (
    <RecordPage
      key={value(values, "collection") + "/" + value(values, "id")}
      collection={value(values, "collection")}
      id={value(values, "id")} />
  ),
  "files": () => <FilesPage />,
  "moderation": () => <ModerationPage />,
  "hooks": () => <HooksPage />,
  "hooks/{name}": (values) => <HookPage key={value(values, "name")} name={value(values, "name")} />,
  "jobs": () => <JobsPage />,
  "definitions": () => <DefinitionsPage />,
  "definitions/{name}": (values) => <DefinitionPage key={value(values, "name")} name={value(values, "name")} />,
  "users": () => <UsersPage />,
  "users/{id}": (values) => <UserPage key={value(values, "id")} id={value(values, "id")} />,
  "sign-in": () => <SignInSetupPage />,
  "configuration": () => <ConfigurationsPage />,
  "configuration/{name}": (values) => <ConfigurationPage key={value(values, "name")} name={value(values, "name")} />,
  "flags": () => <FlagsPage />,
  "experiments": () => <ExperimentsPage />,
  "experiments/{name}": (values) => <ExperimentPage key={value(values, "name")} name={value(values, "name")} />,
  "languages": () => <LanguagesPage />,
  "languages/{name}": (values) => <TranslationPage key={value(values, "name")} name={value(values, "name")} />,
  "analytics": () => <AnalyticsPage />,
  "crashes": () => <CrashesPage />,
  "crashes/{number}": (values) => <CrashPage key={value(values, "number")} number={value(values, "number")} />,
  "tickets": () => <TicketsPage />,
  "tickets/{number}": (values) => <TicketPage key={value(values, "number")} number={value(values, "number")} />,
  "push": () => <PushPage />,
  "push/new": () => <ComposePage />,
  "push/{id}": (values) => <MessagePage key={value(values, "id")} id={value(values, "id")} />,
  "mail": () => <MailPage />
};
