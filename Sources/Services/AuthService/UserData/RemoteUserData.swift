import AsyncHTTPClient
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore
import NIOHTTP1

/// What another service holds of users, asked for as a process of ours.
struct RemoteUserData: UserDataHolder {
    let service: ServiceAddress
    let calls: ServiceCalls

    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let answer = try await calls.post("/internal/users/erase", request, to: service, upTo: 64 << 10)
        return try JSONDecoder().decode(UserErasure.self, from: Data(answer.body.readableBytesView))
    }

    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        let answer = try await calls.post("/internal/users/export", request, to: service, upTo: UserDataPortion.maximumSizeInBytes)
        return UserDataPortion(lines: answer.body, next: answer.headers.first(name: HeaderName.next))
    }
}

/// Calls other services: signed, with a time limit, without redirects.
final class ServiceCalls: Sendable {
    private static let timeout: TimeAmount = .seconds(30)

    private let client: HTTPClient
    private let signer: PrincipalSigner

    init(internalSecret: Secret) {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(2)
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        signer = PrincipalSigner(internalSecret: internalSecret)
    }

    deinit {
        client.shutdown { _ in }
    }

    struct Answer: Sendable {
        var headers: HTTPHeaders
        var body: ByteBuffer
    }

    enum Failure: Error {
        case status(Int, service: String)
    }

    func post(_ path: String, _ body: some Encodable, to service: ServiceAddress, upTo limitInBytes: Int) async throws -> Answer {
        var request = HTTPClientRequest(url: service.url.absoluteString.trimmingSuffix("/") + path)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: HeaderName.principal, value: try signer.header(for: .service(AuthService.name), at: Date()))
        request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(body)))
        let response = try await client.execute(request, timeout: Self.timeout)
        let answer = Answer(headers: response.headers, body: try await response.body.collect(upTo: limitInBytes))
        guard response.status == .ok else { throw Failure.status(Int(response.status.code), service: service.name) }
        return answer
    }
}
