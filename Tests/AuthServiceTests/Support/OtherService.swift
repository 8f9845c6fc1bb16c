import AuthService
import Foundation
import Hummingbird
import Logging
import MartletAPI
import MartletCore
import MartletHTTP
import MartletTesting
import NIOCore
import ServiceLifecycle
import Synchronization

/// Another service on a port of its own, with user data supplied by the test. Its routes and their authentication are
/// the real ones.
final class OtherService: Sendable {
    private struct State {
        /// Number of items by app, environment and user.
        var items: [UserDataRequest: Int] = [:]
        var calls: [UserDataRequest] = []
        var signOuts: [SignOut] = []
        var bounced: Set<MailQuestion> = []
        /// The newest state of each user.
        var documents: [String: UserDocuments.User] = [:]
        /// Every call for users' documents that succeeded.
        var documentCalls: [UserDocuments] = []
        /// Number of calls that fail before it answers again.
        var failures = 0
    }

    private let state = Mutex(State())
    let address: ServiceAddress

    /// A notice about an ended session.
    struct SignOut: Codable, Sendable, Equatable {
        var app: String
        var environment: AppEnvironment
        var user: String
        var sessions: Set<String>
    }

    /// A call that looks up whether the app's mail to an address has bounced.
    struct MailQuestion: Codable, Sendable, Hashable {
        var app: String
        var environment: AppEnvironment
        var address: String
    }

    /// How many items a call erases or exports.
    static let slice = 2

    private init(_ name: String, port: Int) throws {
        address = ServiceAddress(name: name, url: URL(string: "http://127.0.0.1:\(port)")!)
    }

    /// Runs until the test's process ends.
    static func start(_ name: String) async throws -> OtherService {
        let service = try OtherService(name, port: try FreePort.find())
        let router = ServiceProcess.makeRouter(
            Definition(userData: Holder(service: service), service: service), signer: ServiceClient.signer)
        let (running, isRunning) = AsyncStream.makeStream(of: Void.self)
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: service.address.url.port ?? 0)),
            onServerRunning: { _ in isRunning.yield() }, logger: .silent)
        Task { try await application.run() }
        for await _ in running { break }
        return service
    }

    func give(_ count: Int, to user: String, of app: String, in environment: AppEnvironment = .live) {
        state.withLock { $0.items[UserDataRequest(app: app, environment: environment, user: user)] = count }
    }

    func count(of user: String, of app: String, in environment: AppEnvironment = .live) -> Int {
        state.withLock { $0.items[UserDataRequest(app: app, environment: environment, user: user)] ?? 0 }
    }

    func fail(_ count: Int) { state.withLock { $0.failures = count } }

    var calls: [UserDataRequest] { state.withLock { $0.calls } }

    func document(of user: String) -> UserDocuments.User? { state.withLock { $0.documents[user] } }
    var documentCalls: [UserDocuments] { state.withLock { $0.documentCalls } }

    var signOuts: [SignOut] { state.withLock { $0.signOuts } }
    func setBounced(_ mail: MailQuestion, _ hasBounced: Bool = true) {
        state.withLock { if hasBounced { $0.bounced.insert(mail) } else { $0.bounced.remove(mail) } }
    }

    /// How many calls are still going to fail.
    var failuresLeft: Int { state.withLock { $0.failures } }

    private func call(_ request: UserDataRequest) throws { try record { $0.calls.append(request) } }

    private func record(_ change: (inout State) -> Void) throws {
        let fails = state.withLock { state in
            change(&state)
            state.failures -= 1
            return state.failures >= 0
        }
        if fails { throw ServiceError(.unavailable) }
    }

    private struct TakeSignOut: Endpoint {
        let service: OtherService

        func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
            guard try context.principal.kind == .service else { throw ServiceError(.forbidden) }
            let signOut = try await request.decoded(SignOut.self)
            try service.record { $0.signOuts.append(signOut) }
            return .json("{}")
        }
    }

    private struct TakeDocuments: Endpoint {
        let service: OtherService

        func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
            guard try context.principal.kind == .service else { throw ServiceError(.forbidden) }
            let documents = try await request.decoded(UserDocuments.self, upTo: 4 << 20)
            try service.record { _ in }
            service.state.withLock { state in
                state.documentCalls.append(documents)
                for user in documents.users where user.version > state.documents[user.id]?.version ?? 0 {
                    state.documents[user.id] = user
                }
            }
            return .json("{}")
        }
    }

    private struct AnswerBounceCheck: Endpoint {
        let service: OtherService

        func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
            guard try context.principal.kind == .service else { throw ServiceError(.forbidden) }
            let question = try await request.decoded(MailQuestion.self)
            try service.record { _ in }
            return .json(#"{"isReturned":\#(service.state.withLock { $0.bounced.contains(question) })}"#)
        }
    }

    private struct Holder: UserDataHolder {
        let service: OtherService

        func erase(_ request: UserDataRequest) async throws -> UserErasure {
            try service.call(request)
            var key = request
            key.after = nil
            return service.state.withLock { [key] state in
                let count = min(OtherService.slice, state.items[key] ?? 0)
                let rest = (state.items[key] ?? 0) - count
                state.items[key] = rest
                return UserErasure(erased: count > 0 ? ["things": count] : [:], next: rest > 0 ? "\(rest) left" : nil)
            }
        }

        func export(_ request: UserDataRequest) async throws -> UserDataPortion {
            try service.call(request)
            var key = request
            key.after = nil
            let total = service.state.withLock { [key] in $0.items[key] ?? 0 }
            let start = Int(request.after ?? "0") ?? 0
            let end = min(total, start + OtherService.slice)
            let lines = (start..<end).map {
                #"{"service":"\#(service.address.name)","kind":"thing","data":{"n":\#($0)}}"# + "\n"
            }
            return UserDataPortion(lines: ByteBuffer(string: lines.joined()), next: end < total ? String(end) : nil)
        }
    }

    private struct Definition: ServiceDefinition {
        static let name = "other"
        static let defaultPort = 1

        let userData: any UserDataHolder
        let service: OtherService?
        var background: [any Service] { [] }

        init(userData: any UserDataHolder, service: OtherService) {
            (self.userData, self.service) = (userData, service)
        }
        init(settings: Settings, logger: Logger) throws { (userData, service) = (NoUserData(), nil) }

        func isReady() async -> Bool { true }
        func addRoutes(to routes: inout RouteTable) {
            guard let service else { return }
            routes.on(.post, "/internal/users/sign-out", TakeSignOut(service: service))
            routes.on(.post, "/internal/users/documents", TakeDocuments(service: service))
            routes.on(.post, "/internal/mail/returned", AnswerBounceCheck(service: service))
        }
    }
}
