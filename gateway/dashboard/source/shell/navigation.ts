// The pages of the dashboard, as the side bar and the palette list them.

import { Area } from "../api/session";
import { IconName } from "../system/icons";
import { Text } from "../text";

export interface Entry {
  page: string;
  title: Text;
  icon: IconName;
  /** Only members who may read this area see the page; without an area, every member does. */
  area?: Area;
}

export const groups: { title?: Text; entries: Entry[] }[] = [
  { entries: [{ page: "overview", title: "Overview", icon: "overview" }] },
  {
    title: "Data",
    entries: [
      { page: "storage", title: "Storage", icon: "data", area: "storage" },
      { page: "files", title: "Files", icon: "file", area: "storage" },
      { page: "users", title: "Users", icon: "users", area: "users" },
      { page: "sign-in", title: "Sign-in of users", icon: "keys", area: "users" },
      { page: "moderation", title: "Moderation", icon: "shield", area: "storage" },
      { page: "hooks", title: "Hooks", icon: "link", area: "storage" },
      { page: "jobs", title: "Jobs", icon: "clock", area: "storage" }
    ]
  },
  {
    title: "Deliver",
    entries: [
      { page: "configuration", title: "Remote configuration", icon: "config", area: "config" },
      { page: "flags", title: "Flags", icon: "flag", area: "config" },
      { page: "experiments", title: "A/B tests", icon: "experiment", area: "experiments" },
      { page: "languages", title: "Languages", icon: "languages", area: "languages" },
      { page: "definitions", title: "App definitions", icon: "code", area: "config" }
    ]
  },
  {
    title: "Understand",
    entries: [
      { page: "analytics", title: "Analytics", icon: "analytics", area: "analytics" },
      { page: "crashes", title: "Crashes", icon: "crash", area: "crashes" },
      { page: "tickets", title: "Tickets", icon: "tickets", area: "tickets" }
    ]
  },
  {
    title: "Reach",
    entries: [
      { page: "push", title: "Push", icon: "push", area: "notifications" },
      { page: "mail", title: "Mail", icon: "mail", area: "notifications" }
    ]
  },
  { title: "App", entries: [{ page: "settings", title: "Keys and versions", icon: "keys", area: "applications" }] }
];

/** Pages that belong to no app. */
export const serverEntries: Entry[] = [
  { page: "/apps", title: "Apps", icon: "apps" },
  { page: "/staff", title: "Staff", icon: "staff", area: "staff" },
  { page: "/audit", title: "Audit log", icon: "audit", area: "audit" },
  { page: "/status", title: "Status", icon: "status", area: "status" }
];
