import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import AnalyticsService

/// Which callers may use each route of the service.
@Suite struct AccessTests {
    enum Access: Sendable {
        /// Staff with the right in the app, and the app's own server.
        case managers(StaffAction, StaffArea)
        /// Staff who may read the server's status.
        case operators
        case only(Set<Principal.Kind>)
    }

    struct Call: Sendable {
        var access: Access
        var method: String
        /// The route as registered with the router.
        var route: String
        /// An invalid query for streams, whose answers would otherwise never end.
        var query = ""

        /// A path to something that does not exist.
        var path: String {
            "/"
                + route.split(separator: "/").map { $0.hasPrefix(":") ? "1" : $0 == "**" ? "any" : String($0) }.joined(
                    separator: "/") + query
        }

        /// A body that every call refuses: neither JSON nor an envelope, nor base64 of anything compressed.
        var body: String? { ["POST", "PUT", "PATCH"].contains(method) ? "AAAA" : nil }

        func isRefusal(_ answer: Answer) -> Bool {
            route.hasPrefix("crash/api/0") ? answer.isSentryRefusal(.forbidden) : answer.isProblem(.forbidden)
        }
    }

    enum Part: CaseIterable {
        case events, questions, crashes, sentry, tickets

        var calls: [Call] {
            switch self {
            case .events: AccessTests.events
            case .questions: AccessTests.questions
            case .crashes: AccessTests.crashes
            case .sentry: AccessTests.sentry
            case .tickets: AccessTests.tickets
            }
        }
    }

    private static func calls(_ access: Access, _ lines: String...) -> [Call] {
        lines.map { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            let address = parts[1].split(separator: "?")
            return Call(
                access: access, method: String(parts[0]), route: String(address[0]),
                query: address.count > 1 ? "?" + address[1] : "")
        }
    }

    private static let events =
        calls(
            .only([.ingest]), "POST segment/v1/batch", "POST segment/v1/b", "POST segment/v1/identify",
            "POST segment/v1/track", "POST segment/v1/screen",
            "POST segment/v1/page", "POST segment/v1/group", "POST segment/v1/alias", "POST segment/v1/i",
            "POST segment/v1/t", "POST segment/v1/s",
            "POST segment/v1/p", "POST segment/v1/g", "POST segment/v1/a", "GET segment/v1/settings/:key",
            "POST crash/api/:project/envelope",
            "POST crash/api/:project/store")
        + calls(
            .only([.client, .master]), "POST events", "GET events/opt-out", "PUT events/opt-out",
            "DELETE events/opt-out", "POST thesis/events",
            "POST thesis/exceptions", "POST feedback")
        + calls(.only([.master]), "GET thesis/events", "GET thesis/exceptions")
        + calls(.only([.service]), "POST internal/analytics/experiments", "POST internal/requests")

    private static let questions =
        calls(
            .managers(.read, .analytics), "GET analytics/settings", "GET analytics/counts", "GET analytics/screens",
            "GET analytics/people", "GET analytics/sessions",
            "GET analytics/retention", "POST analytics/funnel", "GET analytics/live", "GET analytics/events",
            "GET analytics/questions", "GET analytics/questions/:name")
        + calls(.managers(.update, .analytics), "PUT analytics/settings", "PUT analytics/questions/:name")
        + calls(.managers(.delete, .analytics), "DELETE analytics/questions/:name")
        + calls(.operators, "GET admin/requests")

    private static let crashes =
        calls(
            .managers(.read, .crashes), "GET crashes/issues", "GET crashes/issues/export", "GET crashes/issues/:issue",
            "GET crashes/issues/:issue/history",
            "GET crashes/issues/:issue/counts", "GET crashes/issues/:issue/tags", "GET crashes/issues/:issue/tags/:tag",
            "GET crashes/issues/:issue/releases",
            "GET crashes/issues/:issue/active", "GET crashes/issues/:issue/reports",
            "GET crashes/issues/:issue/reports/:report",
            "GET crashes/issues/:issue/reports/:report/attachments/:attachment", "GET crashes/issues/:issue/hashes",
            "GET crashes/counts", "GET crashes/releases",
            "GET crashes/settings", "GET crashes/alerts", "GET crashes/alerts/:alert",
            "GET crashes/alerts/:alert/deliveries", "GET crashes/symbols",
            "GET crashes/symbols/missing", "GET crashes/symbols/:file")
        + calls(
            .managers(.create, .crashes), "POST crashes/alerts", "POST crashes/symbols/chunks",
            "POST crashes/symbols/assemble")
        + calls(
            .managers(.update, .crashes), "POST crashes/issues/update", "PATCH crashes/issues/:issue",
            "POST crashes/issues/:issue/merge",
            "POST crashes/issues/:issue/part", "PUT crashes/settings", "PUT crashes/alerts/:alert",
            "POST crashes/alerts/:alert/secret",
            "POST crashes/alerts/:alert/test", "POST crashes/alerts/:alert/deliveries/:delivery/retry")
        + calls(
            .managers(.delete, .crashes), "DELETE crashes/issues/:issue", "DELETE crashes/alerts/:alert",
            "DELETE crashes/symbols/:file")

    private static let sentry = calls(
        .only([.master]), "GET crash/api/0", "GET crash/api/0/users/me/regions", "GET crash/api/0/organizations",
        "GET crash/api/0/organizations/:organization/projects", "GET crash/api/0/organizations/:organization/repos",
        "GET crash/api/0/organizations/:organization/releases", "POST crash/api/0/organizations/:organization/releases",
        "GET crash/api/0/projects/:organization/:project/releases",
        "GET crash/api/0/organizations/:organization/releases/:version",
        "PUT crash/api/0/organizations/:organization/releases/:version",
        "DELETE crash/api/0/organizations/:organization/releases/:version",
        "GET crash/api/0/organizations/:organization/releases/:version/commits",
        "GET crash/api/0/organizations/:organization/releases/:version/previous-with-commits",
        "GET crash/api/0/organizations/:organization/releases/:version/deploys",
        "POST crash/api/0/organizations/:organization/releases/:version/deploys",
        "GET crash/api/0/projects/:organization/:project/issues",
        "PUT crash/api/0/projects/:organization/:project/issues",
        "GET crash/api/0/projects/:organization/:project/events",
        "GET crash/api/0/organizations/:organization/chunk-upload",
        "POST crash/api/0/organizations/:organization/chunk-upload",
        "POST crash/api/0/projects/:organization/:project/files/difs/assemble",
        "GET crash/api/0/**", "POST crash/api/0/**", "PUT crash/api/0/**", "PATCH crash/api/0/**",
        "DELETE crash/api/0/**")

    private static let tickets =
        calls(
            .managers(.read, .tickets), "GET tickets", "GET tickets/board", "GET tickets/events?after=x",
            "GET tickets/export", "GET tickets/people",
            "GET tickets/settings", "GET tickets/labels", "GET tickets/sprints", "GET tickets/sprints/:sprint",
            "GET tickets/sprints/:sprint/report",
            "GET tickets/:ticket", "GET tickets/:ticket/history", "GET tickets/:ticket/comments",
            "GET tickets/:ticket/attachments/:attachment")
        + calls(.managers(.create, .tickets), "POST tickets", "POST tickets/labels", "POST tickets/sprints")
        + calls(
            .managers(.update, .tickets), "POST tickets/update", "PATCH tickets/settings",
            "PATCH tickets/labels/:label", "PATCH tickets/sprints/:sprint",
            "POST tickets/sprints/:sprint/start", "POST tickets/sprints/:sprint/close", "PATCH tickets/:ticket",
            "POST tickets/:ticket/move",
            "POST tickets/:ticket/comments", "PATCH tickets/:ticket/comments/:comment",
            "DELETE tickets/:ticket/comments/:comment",
            "POST tickets/:ticket/attachments?name=a", "DELETE tickets/:ticket/attachments/:attachment",
            "POST tickets/:ticket/issues",
            "DELETE tickets/:ticket/issues/:issue", "POST tickets/:ticket/links",
            "DELETE tickets/:ticket/links/:kind/:other")
        + calls(
            .managers(.delete, .tickets), "DELETE tickets/labels/:label", "DELETE tickets/sprints/:sprint",
            "DELETE tickets/:ticket",
            "POST tickets/:ticket/restore")

    @Test func `every route is listed in a table here`() async throws {
        try await AnalyticsApp.run { app in
            var routes = RouteTable()
            app.service.addRoutes(to: &routes)
            // Names of parameters are written differently.
            func call(_ method: String, _ path: String) -> String {
                method + " "
                    + path.split(separator: "/").map { $0.hasPrefix(":") || $0.hasPrefix("{") ? ":" : String($0) }
                    .joined(separator: "/")
            }
            let known = Part.allCases.flatMap(\.calls).map { call($0.method, $0.route) }
            let there = routes.routes.map { call($0.route.method.rawValue, $0.route.path) }
            #expect(known.sorted() == there.sorted(), "\(Set(known).symmetricDifference(there))")
        }
    }

    @Test(arguments: Part.allCases)
    func `each route admits only its callers, and does nothing for others`(_ part: Part) async throws {
        try await AnalyticsApp.run { app in
            _ = try await app.service.spaces.space(of: app.appID, app.environment)
            for call in part.calls {
                let before = try await app.fingerprint()
                for principal in Self.refusedCallers(of: call.access, app) {
                    let answer = try await app.gateway.acting(as: principal).send(call.method, call.path, call.body)
                    #expect(
                        call.isRefusal(answer),
                        "\(call.method) \(call.path) as \(principal.kind) with \(principal.staff?.rights.apps ?? [:]): \(answer)"
                    )
                }
                #expect(
                    try await app.gateway.send(call.method, call.path, call.body).status == 401,
                    "\(call.method) \(call.path) past the gateway")
                let after = try await app.fingerprint()
                #expect(
                    after == before,
                    "\(call.method) \(call.path) wrote \(after.filter { before[$0.key] != $0.value }.keys)")
                for principal in Self.admittedCallers(of: call.access, app) {
                    let answer = try await app.gateway.acting(as: principal).send(call.method, call.path, call.body)
                    let isTaken =
                        ![401, 403, 405].contains(answer.status) && (answer.status < 500 || call.route.hasSuffix("**"))
                    #expect(isTaken, "\(call.method) \(call.path) as \(principal.kind): \(answer)")
                }
            }
        }
    }

    @Test(arguments: [Part.questions, .crashes, .tickets])
    func `staff who must change their password, or name no app, are refused`(_ part: Part) async throws {
        try await AnalyticsApp.run { app in
            var noApp = Self.staff(app, StaffRights([StaffRights.everyApp: Self.everything]))
            noApp.appID = ""
            let resetting = app.principal(
                .staff, staff: StaffGrant(id: Colleague.ada.id, userName: "ada", isAdministrator: true, mustReset: true)
            )
            let before = try await app.fingerprint()
            for call in part.calls {
                let reset = try await app.gateway.acting(as: resetting).send(call.method, call.path, call.body)
                #expect(reset.isProblem(.passwordResetRequired), "\(call.method) \(call.path): \(reset)")
                guard case .managers = call.access else { continue }
                let answer = try await app.gateway.acting(as: noApp).send(call.method, call.path, call.body)
                #expect((400..<500).contains(answer.status), "\(call.method) \(call.path): \(answer)")
            }
            #expect(try await app.fingerprint() == before)
        }
    }

    // MARK: Callers

    private static let kinds: [Principal.Kind] = [
        .client, .master, .ingest, .evaluation, .link, .staff, .visitor, .service,
    ]
    private static let everything: StaffRights.Areas = Dictionary(
        uniqueKeysWithValues: StaffArea.allCases.map { ($0, Set(StaffAction.allCases)) })

    private static func staff(_ app: AnalyticsApp, _ rights: StaffRights) -> Principal {
        app.principal(
            .staff,
            staff: StaffGrant(
                id: Colleague.ada.id, userName: "ada", rights: rights, confirmed: Int64(Date().timeIntervalSince1970)))
    }

    /// All rights but one action.
    private static func everything(except action: StaffAction, _ area: StaffArea) -> StaffRights.Areas {
        var areas = everything
        areas[area]?.remove(action)
        return areas
    }

    private static func refusedCallers(of access: Access, _ app: AnalyticsApp) -> [Principal] {
        let everywhere = staff(app, StaffRights([StaffRights.everyApp: everything]))
        switch access {
        case .managers(let action, let area):
            return kinds.filter { ![.master, .staff].contains($0) }.map { app.principal($0) } + [
                staff(app, StaffRights([StaffRights.everyApp: everything(except: action, area)])),
                staff(app, StaffRights(["app2": everything])),
                staff(app, .none),
            ]
        case .operators:
            return kinds.filter { $0 != .staff }.map { app.principal($0) } + [
                staff(app, StaffRights([StaffRights.everyApp: everything(except: .read, .status)])),
                staff(app, StaffRights(["app1": everything])),
            ]
        case .only(let admitted):
            return kinds.filter { $0 != .staff && !admitted.contains($0) }.map { app.principal($0) } + [everywhere]
        }
    }

    private static func admittedCallers(of access: Access, _ app: AnalyticsApp) -> [Principal] {
        switch access {
        case .managers(let action, let area):
            [app.principal(.master), staff(app, StaffRights(["app1": [area: [action]]]))]
        case .operators: [staff(app, StaffRights([StaffRights.everyApp: [.status: [.read]]]))]
        case .only(let kinds): kinds.map { app.principal($0) }
        }
    }
}
