import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListApps: Endpoint {
    static let route = Route(
        .get, "/admin/apps", "listApps",
        "Lists the apps in which the staff member has any right, in the order of their creation.",
        callers: .signedInStaff,
        parameters: [
            .query("archived", .boolean.defaulting(to: false), "Lists archived apps instead."),
            .query("after", .integer, "The `next` of the previous page."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        details: """
            If the member may not read `applications` of an app, only its `id`, `number`, `name` and `archived` are \
            shown.
            """,
        answers: [
            .answer(
                200, "A page of apps.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(
                                of: .anyOf(
                                    .app,
                                    .appName)),
                            "next": .string.described("The `after` of the next page, if there is one."),
                        ], required: ["count", "data"])))
        ])

    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let staff = try context.signedInStaff
        let limit = try context.integer("limit")
        let after = try request.number("after", default: 0, in: 0...Int(Int32.max))
        let list = try await apps.list(
            staff.apps { !$0.isEmpty }, readable: staff.apps { $0[.applications]?.contains(.read) == true },
            areArchived: try request.flag("archived"), after: after, limit: limit + 1)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last.map { String($0.number) } : nil)
    }
}

extension StaffGrant {
    /// The apps in which the member's rights satisfy `condition`. Rights in the server's own areas are not rights in an
    /// app.
    fileprivate func apps(_ condition: (StaffRights.Areas) -> Bool) -> AppStore.Selection {
        let everywhere = rights.apps[StaffRights.everyApp]?.filter { !$0.key.isServerWide } ?? [:]
        if isAdministrator || condition(everywhere) { return .all }
        return .only(rights.apps.filter { $0.key != StaffRights.everyApp && condition($0.value) }.map(\.key))
    }
}

/// The app, its keys and the entry in the audit log are written in one transaction.
struct CreateApp: Endpoint {
    static let route = Route(
        .post, "/admin/apps", "createApp", "Creates an app with its first keys.",
        callers: .staff(.create, .applications),
        details: """
            Needs the right for every app. The new master key is left out if the staff member lacks a right that \
            it would give.
            """,
        body: .json(
            .object(
                [
                    "name": .string.length(1, 200),
                    "bundleIds": .array(of: .string).maxItems(20),
                    "storeId": .string.pattern(#"^[0-9]{1,20}$"#).nullable,
                    "settings": .object,
                ], required: ["name"])),
        answers: [
            .answer(
                201, "The app, and its keys, which are shown only once.",
                .json(
                    .object(
                        [
                            "app": .app,
                            "keys": .object.keyword("additionalProperties", true),
                        ], required: ["app", "keys"])))
        ])

    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let author = AppAuthor(staff: try context.staff(may: .create, .applications), address: request.staffAddress)
        let change = try await BodyFields(request, AppChange.fields).appChange()
        guard let name = change.name else { throw ServiceError(.invalidBody, "This field is required.", field: "name") }
        let created = try await apps.create(name, change, by: author)
        let keys = try JSONValue(encoding: created.keys).text
        return .created(#"{"app":\#(created.json),"keys":\#(keys)}"#, at: "/admin/apps/\(created.keys.appId)").notStored
    }
}

struct ReadApp: Endpoint {
    static let route = Route(
        .get, "/admin/apps/{app}", "readApp", "Returns an app.", callers: .staffOfApp(.read, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        details: "Archived apps are returned too.",
        answers: [
            .answer(200, "The app.", .json(.app))
        ],
        errors: [404: "The server has no such app (`app-not-found`)."])

    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let app = try await apps.read(try context.readableApp()) else { throw ServiceError(.appNotFound) }
        return .json(app)
    }
}

struct ChangeApp: Endpoint {
    static let route = Route(
        .patch, "/admin/apps/{app}", "changeApp", "Changes an app.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        details: "Each field that is sent replaces the stored value.",
        body: .json(
            .object(
                [
                    "name": .string.length(1, 200),
                    "bundleIds": .array(of: .string).maxItems(20),
                    "storeId": .string.pattern(#"^[0-9]{1,20}$"#).nullable,
                    "settings": .object,
                ])),
        answers: [
            .answer(200, "The changed app.", .json(.app))
        ],
        errors: [404: "The server has no such app (`app-not-found`).", 409: "The app is archived (`conflict`)."])

    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        return .json(try await apps.change(id, try await BodyFields(request, AppChange.fields).appChange(), by: author))
    }
}

/// Idempotent.
struct ArchiveApp: Endpoint {
    static let route = Route(
        .post, "/admin/apps/{app}/archive", "archiveApp",
        "Archives an app.",
        callers: .staffOfApp(.delete, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ], needsConfirmation: true,
        details: """
            Gateways refuse the keys of an archived app. The change takes effect within two seconds. The app's data \
            is kept.
            """,
        answers: [
            .answer(200, "The app.", .json(.app))
        ],
        errors: [404: "The server has no such app (`app-not-found`)."])
    static let restoreApp = route.at("/admin/apps/{app}/restore", "restoreApp", "Restores an archived app.")

    let apps: AppStore
    /// True for archiving the app, false for restoring it.
    let archives: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request, .delete)
        return .json(try await apps.setArchived(archives, id, by: author))
    }
}
