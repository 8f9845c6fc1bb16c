import Foundation
import MartletAPI
import MartletCore
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// The part of `auth` that gateways use: the feed of key rings and the report of used credentials.
final class TestAuth: Sendable {
    private struct State {
        var ring: KeyRing
        var waiting: [(after: Int64, answer: @Sendable (KeyRing?) -> Void)] = []
        var used: [String: Date] = [:]
        var principals: [Principal?] = []
        var revocations = Revocations(last: 0, sessions: [:])
        var waitingForRevocations: [@Sendable (Revocations?) -> Void] = []
    }

    private let state: Mutex<State>
    private let channel = Mutex<(any Channel)?>(nil)

    static func start(_ ring: KeyRing) async throws -> TestAuth {
        let auth = TestAuth(ring)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(AuthHandler(auth))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        auth.channel.withLock { $0 = channel }
        return auth
    }

    private init(_ ring: KeyRing) { state = Mutex(State(ring: ring)) }

    var url: String { "http://127.0.0.1:\(channel.withLock { $0?.localAddress?.port } ?? 0)" }
    var used: [String: Date] { state.withLock { $0.used } }
    var principals: [Principal?] { state.withLock { $0.principals } }

    func stop() async { try? await channel.withLock { $0 }?.close().get() }

    func publish(_ change: (inout KeyRing) -> Void) {
        let (ring, waiting) = state.withLock { state in
            change(&state.ring)
            state.ring.version += 1
            defer { state.waiting = [] }
            return (state.ring, state.waiting)
        }
        for wait in waiting { wait.answer(ring) }
    }

    fileprivate func ask(after: Int64, principal: Principal?, _ answer: @escaping @Sendable (KeyRing?) -> Void) {
        let ring: KeyRing? = state.withLock { state in
            state.principals.append(principal)
            if state.ring.version > after { return state.ring }
            state.waiting.append((after, answer))
            return nil
        }
        if let ring { answer(ring) }
    }

    /// Ends a session.
    func revoke(_ session: String) {
        change { $0.sessions[session] = Int64(Date().timeIntervalSince1970) + 960 }
    }

    /// Reports that more sessions have ended than can be listed.
    func cutOff(at time: Int64) {
        change { $0.cutOff = time }
    }

    private func change(_ change: (inout Revocations) -> Void) {
        let (news, waiting) = state.withLock { state in
            state.revocations.last += 1
            change(&state.revocations)
            defer { state.waitingForRevocations = [] }
            return (state.revocations, state.waitingForRevocations)
        }
        for answer in waiting { answer(news) }
    }

    fileprivate func askForRevocations(after: Int64, _ answer: @escaping @Sendable (Revocations?) -> Void) {
        let news: Revocations? = state.withLock { state in
            if state.revocations.last != after { return state.revocations }
            state.waitingForRevocations.append(answer)
            return nil
        }
        if let news { answer(news) }
    }

    fileprivate func report(_ use: CredentialUse) { state.withLock { $0.used.merge(use.used) { max($0, $1) } } }
}

private final class AuthHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let auth: TestAuth
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()

    init(_ auth: TestAuth) { self.auth = auth }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = ByteBuffer()
        case .body(var part): body.writeBuffer(&part)
        case .end: answer(context)
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        guard let head else { return }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        if head.method == .POST {
            if let use = try? decoder.decode(CredentialUse.self, from: Data(body.readableBytesView)) {
                auth.report(use)
            }
            return respond(context, .noContent, Data())
        }
        let after =
            URLComponents(string: head.uri)?.queryItems?.first { $0.name == "after" }?.value.flatMap { Int64($0) } ?? -1
        let signer = PrincipalSigner(internalSecret: TestKeys.internalSecret)
        let principal = head.headers.first(name: HeaderName.principal).flatMap {
            signer.principal(from: $0, at: Date())?.principal
        }
        let loop = context.eventLoop
        let bound = NIOLoopBound((self, context), eventLoop: loop)
        @Sendable func answer(_ value: (some Encodable & Sendable)?) {
            loop.execute {
                let (handler, context) = bound.value
                guard let value else { return handler.respond(context, .noContent, Data()) }
                let encoder = JSONEncoder()
                encoder.dateEncodingStrategy = .iso8601
                handler.respond(context, .ok, (try? encoder.encode(value)) ?? Data())
            }
        }
        if head.uri.hasPrefix("/internal/revocations") {
            auth.askForRevocations(after: after) { answer($0) }
        } else {
            auth.ask(after: after, principal: principal) { answer($0) }
        }
    }

    private func respond(_ context: ChannelHandlerContext, _ status: HTTPResponseStatus, _ data: Data) {
        var headers = HTTPHeaders()
        if status != .noContent { headers.add(name: "content-length", value: "\(data.count)") }
        context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
        if !data.isEmpty { context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: data)))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
