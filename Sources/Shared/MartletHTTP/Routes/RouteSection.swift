/// A part of the API: a group of calls that has its own page in the reference.
public struct RouteSection: Sendable, Hashable {
    public let name: String
    public let text: String

    public static let objects = RouteSection(
        name: "objects",
        text: """
            Stores, reads and queries an app's objects. Apps call it with their secret, app servers with a master \
            key. The access token of a signed-in user adds that user's rights. Staff with rights in the area `storage` can \
            make the calls under `/admin/apps/{app}` and have the server's rights.
            """)
    public static let collections = RouteSection(
        name: "collections",
        text: """
            Manages the app's collections and their indexes. Needs a master key, or rights of staff in the area `storage`.
            """)
    public static let roles = RouteSection(
        name: "roles",
        text: """
            Manages the roles of the app's end users. Needs a master key, or rights of staff in the area `users`. \
            Signed-in users can list their own roles.
            """)
    public static let files = RouteSection(
        name: "files",
        text: """
            Stores files by path, with signed links and resumable uploads. Apps call it with their secret, app \
            servers with a master key, staff with rights in the area `storage`. A signed link needs no key.
            """)
    public static let users = RouteSection(
        name: "users",
        text: """
            Manages the end users of an app and their sessions. Calls about the signed-in user need the app's \
            secret and an access token in `Authorization: Bearer …`. Every other call that takes the secret accepts \
            an access token as well and then has that user's rights. Managing other users needs a master key, or rights of staff in the area `users`.
            """)
    public static let staff = RouteSection(
        name: "staff",
        text: """
            Manages the people who run the server: their accounts, rights and sessions, and the log of their \
            actions. Only staff can call it, with a staff access token.
            """)
    public static let apps = RouteSection(
        name: "apps",
        text: """
            Manages apps, their versions, keys and limits. Only staff can call it, with rights in the area \
            `applications`.
            """)
    public static let provider = RouteSection(
        name: "provider",
        text: """
            The app's OpenID Connect provider, which lets users of the app sign in to other applications. The calls \
            under `/oidc` need no app key. Managing the client applications needs a master key, or rights of \
            staff in the area `users`; users manage their own grants with an access token.
            """)
    public static let transfers = RouteSection(
        name: "transfers",
        text: """
            Imports and exports data, tracks long-running jobs, and manages the test environment. Needs a master \
            key, or rights of staff in the area `storage`.
            """)
    public static let hooks = RouteSection(
        name: "hooks",
        text: """
            Calls webhooks before and after writes, and functions on the app's own server. Managing them needs a \
            master key, or rights of staff in the area `storage`. Apps call functions with their secret.
            """)
    public static let config = RouteSection(
        name: "config",
        text: """
            Manages configuration documents: drafts, immutable versions, and the version that is live. Needs a \
            master key. Staff with rights in the areas `config`, `experiments` or `languages` can make the calls under \
            `/api/{appKey}/config` at `/admin/apps/{app}/config`. Apps read the live versions with their secret.
            """)
    public static let flags = RouteSection(
        name: "flags",
        text: """
            Evaluates typed parameters and feature flags on the server. Apps use one call of their own, with their \
            secret. Other programs use OFREP, the OpenFeature protocol, with an evaluation key. Importing flags from \
            Firebase needs a master key, or rights of staff as for the other configuration documents.
            """)
    public static let analytics = RouteSection(
        name: "analytics",
        text: """
            Receives events from apps. Sending needs an ingest key or the app's secret. The settings need a master \
            key; staff with rights in the area `analytics` can change them under `/admin/apps/{app}/analytics`.
            """)
    public static let questions = RouteSection(
        name: "questions",
        text: """
            Answers questions about an app's events. Needs a master key. Staff with the right to read in the area \
            `analytics` can make the calls under `/api/{appKey}/analytics` at `/admin/apps/{app}/analytics`. \
            [Ask analytics](../how-to/ask-analytics.md) explains what each number means.
            """)
    public static let crashes = RouteSection(
        name: "crashes",
        text: """
            Manages crash reports, the issues they are grouped into, and alerts. Needs a master key. Staff with \
            rights in the area `crashes` can make the calls under `/api/{appKey}/crashes` at \
            `/admin/apps/{app}/crashes`.
            """)
    public static let symbols = RouteSection(
        name: "symbols",
        text: """
            Stores debug symbols, uploaded with `sentry-cli`, and lists them. Uploads need a master key as the bearer \
            token. They also work under `/api/0/…`, because `sentry-cli` expects the API at the root of the server. \
            Errors of these calls are `application/json` with only `detail`, the one member `sentry-cli` reads. Staff \
            with rights in the area `crashes` can make the calls under `/api/{appKey}/crashes/symbols` at \
            `/admin/apps/{app}/crashes/symbols`.
            """)
    public static let tickets = RouteSection(
        name: "tickets",
        text: """
            Manages the tickets, board and sprints of the team behind an app. Needs a master key. Staff with rights in \
            the area `tickets` can make the calls under `/api/{appKey}/tickets` at `/admin/apps/{app}/tickets`. Apps \
            send feedback with their secret.
            """)
    public static let notifications = RouteSection(
        name: "notifications",
        text: """
            Sends push notifications, and manages push credentials and installations (apps on devices). An \
            installation's own calls need the app's secret, and the installation's secret in `Installation-Secret`. The \
            other calls need a master key. Staff with rights in the area `notifications` can make the calls under \
            `/api/{appKey}/notifications` at `/admin/apps/{app}/notifications`.
            """)
    public static let mail = RouteSection(
        name: "mail",
        text: """
            Sends an app's mail to people. Needs a master key. Staff with rights in the area `notifications` can make \
            the calls under `/api/{appKey}/notifications` at `/admin/apps/{app}/notifications`. The pages under \
            `/mail/unsubscribe` need only the link from a mail.
            """)

    /// All sections, in the order of the reference.
    public static let all: [RouteSection] = [
        .objects, .collections, .roles, .files, .users, .staff, .apps, .provider, .transfers, .hooks, .config, .flags,
        .analytics, .questions, .crashes, .symbols, .tickets, .notifications, .mail,
    ]
}
