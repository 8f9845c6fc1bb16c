import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletTesting
import Testing

@testable import OperatorCommands

/// Every route of every service refuses every caller that it does not declare, before it does anything else. The
/// services' database does not exist, so a request that passed this check would get 503.
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

    /// The route checks the caller first, then the query. The right that the route declares is enough for a caller to
    /// get as far as the check of the query.
    @Test func `each route refuses a query parameter that it does not declare, for the right caller only`() async throws
    {
        var staff = 0
        for (name, definition) in try await ServiceRoute.definitions() {
            let client = try await ServiceClient(definition)
            for (route, _) in definition.routes.routes where !route.checksOwnQuery {
                for friend in Self.friends(of: route.callers) {
                    let answer = try await client.acting(as: friend).send(
                        route.method.rawValue, Self.path(of: route) + "?nonesuch=1", route.acceptsBody ? "{}" : nil)
                    #expect(
                        answer.status == 400,
                        "\(name) \(route.method) \(route.path) as \(Self.text(of: friend)): \(answer.status)")
                    staff += friend.kind == .staff ? 1 : 0
                }
            }
        }
        #expect(staff > 300)
    }

    @Test func `a call that cannot be undone requires staff to have confirmed within ten minutes`() async throws {
        var operations: [String] = []
        for (_, definition) in try await ServiceRoute.definitions() {
            let client = try await ServiceClient(definition)
            for (route, _) in definition.routes.routes where route.needsConfirmation {
                operations.append(route.operation)
                for friend in Self.friends(of: route.callers) where friend.kind == .staff {
                    for (age, isRefused) in [(nil, true), (610, true), (500, false)] as [(Int64?, Bool)] {
                        var friend = friend
                        friend.staff?.confirmed = age.map { Int64(Date().timeIntervalSince1970) - $0 }
                        let answer = try await client.acting(as: friend).send(
                            route.method.rawValue, Self.path(of: route) + "?nonesuch=1", route.acceptsBody ? "{}" : nil)
                        #expect(answer.isProblem(.confirmationRequired) == isRefused, "\(route.operation): \(answer)")
                    }
                }
            }
        }
        #expect(
            operations.sorted() == [
                "archiveApp", "changeAnalyticsSettings", "changeKey", "changeStaff", "copyEnvironment", "createKey",
                "createStaff", "deleteStaff", "deleteUser", "dropCollection", "linkStaffIdentity", "openEnvironment",
                "resetStaffSecondFactor", "restoreApp", "revokeKey", "rotateKey", "saveStaffProvider",
                "setCrashSettings", "wipeEnvironment",
            ])
    }

    /// Staff who must set a new password first, and staff whose path names no app.
    @Test func `no right counts before a new password is set, or without an app`() async throws {
        for (name, definition) in try await ServiceRoute.definitions() {
            let client = try await ServiceClient(definition)
            for (route, _) in definition.routes.routes {
                var isOfApp = false
                switch route.callers {
                case .managers, .clientOrStaff: isOfApp = true
                case .staff, .staffOfApp, .signedInStaff: break
                default: continue
                }
                var resetting = Self.staff(StaffAction.allCases)
                resetting.staff?.isAdministrator = true
                resetting.staff?.mustReset = true
                var nowhere = Self.staff(StaffAction.allCases)
                nowhere.staff?.isAdministrator = true
                nowhere.appID = ""
                for principal in isOfApp ? [resetting, nowhere] : [resetting] {
                    let answer = try await client.acting(as: principal).send(
                        route.method.rawValue, Self.path(of: route), route.acceptsBody ? "{}" : nil)
                    #expect(answer.status == 403, "\(name) \(route.method) \(route.path): \(answer.status)")
                }
            }
        }
    }

    /// Callers that a route does not declare: those of every other kind; and staff without rights, with every right
    /// except the declared ones, and with every right in another app. A refusal of all these rights together shows that
    /// none of them is enough.
    private static func strangers(to callers: Callers) -> [Principal] {
        let all: [Principal.Kind] = [.client, .master, .ingest, .evaluation, .link, .visitor, .service]
        let plain = staff(nil)
        switch callers {
        case .anyone: return []
        case .client, .user: return all.filter { ![.client, .master].contains($0) }.map(caller) + [plain]
        case .server: return all.filter { $0 != .master }.map(caller) + [plain]
        case .clientOrStaff(let actions, let area):
            return all.filter { ![.client, .master].contains($0) }.map(caller) + [plain, everything(in: "another")]
                + actions.map { everything(except: [$0], [area], in: "*") }
        case .managers(let actions, let areas):
            return all.filter { $0 != .master }.map(caller) + [
                plain, everything(except: actions, areas, in: "*"), everything(in: "another"),
            ]
        case .staff(let action, let area):
            return all.map(caller) + [plain, everything(except: [action], [area], in: "*"), everything(in: app)]
        case .staffOfApp(let action, let area):
            return all.map(caller) + [
                plain, everything(except: [action], [area], in: "*"), everything(in: "another"),
            ]
        case .signedInStaff, .staffBeforePasswordReset, .staffSigningIn: return all.map(caller)
        case .kinds(let kinds):
            return all.filter { !kinds.contains($0) }.map(caller) + (kinds.contains(.staff) ? [] : [plain])
        }
    }

    /// The declared callers. For staff: a member for each right that is enough by itself.
    private static func friends(of callers: Callers) -> [Principal] {
        switch callers {
        case .client: [caller(.client)]
        case .clientOrStaff(let actions, let area): [caller(.client), caller(.master), staff(actions, area, in: app)]
        case .user:
            [
                Principal(
                    kind: .client, appID: app, appNumber: 1, environment: .live, credentialID: "c",
                    userID: "0193a000-0000-7000-8000-000000000002", sessionID: "0193a000-0000-7000-8000-000000000003")
            ]
        case .server: [caller(.master)]
        case .managers(let actions, let areas):
            [caller(.master)] + areas.flatMap { area in actions.map { staff([$0], area, in: app) } }
        case .staff(let action, let area): [staff([action], area)]
        case .staffOfApp(let action, let area): [staff([action], area, in: "x")]
        case .signedInStaff, .staffBeforePasswordReset: [staff(nil)]
        default: []
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
            staff: StaffGrant(
                id: "0193a000-0000-7000-8000-000000000001", userName: "sam", rights: rights,
                confirmed: Int64(Date().timeIntervalSince1970)))
    }

    /// Staff with every right but these.
    private static func everything(
        except actions: [StaffAction] = [], _ areas: [StaffArea] = [], in appID: String
    ) -> Principal {
        let rights = StaffArea.allCases.map { area in
            (area, Set(StaffAction.allCases.filter { !(areas.contains(area) && actions.contains($0)) }))
        }
        var principal = staff(nil)
        principal.staff?.rights = StaffRights([appID: Dictionary(uniqueKeysWithValues: rights)])
        return principal
    }

    private static func path(of route: Route) -> String {
        route.path.replacing(/\{\w+\}/, with: "x").replacing("**", with: "x")
    }

    private static func text(of principal: Principal) -> String {
        "\(principal.kind) \(principal.staff?.rights.apps ?? [:])"
    }
}
