import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletTesting
import Testing

@testable import OperatorCommands

/// Every route of every service refuses every caller that it does not declare, before it does anything: the services'
/// database does not exist, so whatever got further would be answered 503.
@Suite struct CallerTests {
    private static let app = "a1b2c3d4"

    @Test func `each route refuses each wrong caller`() async throws {
        var refusals = 0
        for (name, definition) in try await ServiceRoute.definitions() {
            let client = try await ServiceClient(definition)
            for (route, _) in definition.routes.routes {
                for stranger in Self.strangers(to: route.callers) {
                    let answer = try await client.acting(as: stranger).send(
                        route.method.rawValue, Self.path(of: route), route.acceptsBody ? "{}" : nil)
                    #expect(
                        answer.status == 401 || answer.status == 403,
                        "\(name) \(route.method) \(route.path) as \(Self.text(of: stranger)): \(answer.status)")
                    refusals += 1
                }
            }
        }
        #expect(refusals > 2_000)
    }

    @Test func `each route refuses a request that did not come through the gateway`() async throws {
        for (name, definition) in try await ServiceRoute.definitions() {
            let client = try await ServiceClient(definition)
            for (route, _) in definition.routes.routes {
                let answer = try await client.send(route.method.rawValue, Self.path(of: route), nil)
                #expect(answer.status == 401, "\(name) \(route.method) \(route.path): \(answer.status)")
            }
        }
    }

    @Test func `each route refuses a query parameter that it does not declare, for the right caller only`() async throws
    {
        for (name, definition) in try await ServiceRoute.definitions() {
            let client = try await ServiceClient(definition)
            for (route, _) in definition.routes.routes where !route.checksOwnQuery {
                guard let friend = Self.friend(of: route.callers) else { continue }
                let answer = try await client.acting(as: friend).send(
                    route.method.rawValue, Self.path(of: route) + "?nonesuch=1", route.acceptsBody ? "{}" : nil)
                #expect(
                    answer.status == 400, "\(name) \(route.method) \(route.path) as \(friend.kind): \(answer.status)")
            }
        }
    }

    /// Callers of every kind that a route does not declare, and staff with every right but the wanted one.
    private static func strangers(to callers: Callers) -> [Principal] {
        let all: [Principal.Kind] = [.client, .master, .ingest, .evaluation, .link, .visitor, .service]
        let plain = staff(nil)
        switch callers {
        case .anyone: return []
        case .client, .user: return all.filter { ![.client, .master].contains($0) }.map(caller) + [plain]
        case .server: return all.filter { $0 != .master }.map(caller) + [plain]
        case .managers(let actions, let areas):
            return all.filter { $0 != .master }.map(caller) + [plain]
                + areas.flatMap { area in
                    StaffAction.allCases.filter { !actions.contains($0) }.map { staff([$0], area, in: app) }
                } + actions.map { staff([$0], .backup, in: app) }
                + areas.map { staff(StaffAction.allCases, $0, in: "another") }
        case .staff(let action, let area):
            return all.map(caller) + [plain, staff(StaffAction.allCases.filter { $0 != action }, area, in: "*")]
        case .staffOfApp(let action, let area):
            return all.map(caller) + [
                plain, staff(StaffAction.allCases.filter { $0 != action }, area, in: "x"),
                staff(StaffAction.allCases, area, in: "another"),
            ]
        case .signedInStaff, .staffBeforePasswordReset, .staffSigningIn: return all.map(caller)
        case .kinds(let kinds):
            return all.filter { !kinds.contains($0) }.map(caller) + (kinds.contains(.staff) ? [] : [plain])
        }
    }

    private static func friend(of callers: Callers) -> Principal? {
        switch callers {
        case .client: caller(.client)
        case .user:
            Principal(
                kind: .client, appID: app, appNumber: 1, environment: .live, credentialID: "c",
                userID: "0193a000-0000-7000-8000-000000000002", sessionID: "0193a000-0000-7000-8000-000000000003")
        case .server, .managers: caller(.master)
        default: nil
        }
    }

    private static func caller(_ kind: Principal.Kind) -> Principal {
        Principal(kind: kind, appID: app, appNumber: 1, environment: .live, credentialID: "c")
    }

    private static func staff(_ actions: [StaffAction]?, _ area: StaffArea = .users, in appID: String = "*")
        -> Principal
    {
        let rights = StaffRights([appID: [area: Set(actions ?? [])]])
        return Principal(
            kind: .staff, appID: app, appNumber: 1, environment: .live, credentialID: "s",
            staff: StaffGrant(id: "0193a000-0000-7000-8000-000000000001", userName: "sam", rights: rights))
    }

    private static func path(of route: Route) -> String {
        route.path.replacing(/\{\w+\}/, with: "x").replacing("**", with: "x")
    }

    private static func text(of principal: Principal) -> String {
        "\(principal.kind) \(principal.staff?.rights.apps ?? [:])"
    }
}
