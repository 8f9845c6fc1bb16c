import ArgumentParser
import AsyncHTTPClient
import Foundation
import MartletCore
import NIOCore
import NIOHTTP1

/// The options of commands that call a running server with an app's master key.
struct ServerOptions: ParsableArguments {
    @Option(help: "The API's address with the app key: https://example.org/api/APPKEY.")
    var url: String

    @Option(help: "The app's master key. Default: MARTLET_MASTER_KEY.")
    var key: String?

    @Option(help: "live or test.")
    var environment = "live"

    var api: ServerAPI {
        get throws {
            guard let key = key ?? ProcessInfo.processInfo.environment["MARTLET_MASTER_KEY"] else {
                throw ValidationError("--key or MARTLET_MASTER_KEY is required")
            }
            guard environment == "live" || environment == "test" else {
                throw ValidationError(
                    "expected live or test as environment, found \(JSONValue.excerpt(environment))")
            }
            return ServerAPI(url: url, key: Secret(key), environment: environment)
        }
    }
}

/// Calls a running server with an app's master key.
struct ServerAPI: Sendable {
    private static let maximumAnswerSizeInBytes = 32 << 20

    let url: String
    let key: Secret
    let environment: String

    /// Nil if the answer is 404.
    ///
    /// - Throws: `ServerRefusal` for any other answer than 200.
    func send(_ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue? {
        var request = HTTPClientRequest(url: (url.hasSuffix("/") ? String(url.dropLast()) : url) + path)
        request.method = method
        request.headers.add(name: "X-Martlet-Master-Key", value: key.withValue { $0 })
        request.headers.add(name: "X-Martlet-Environment", value: environment)
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body.text))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let answer = try await response.body.collect(upTo: Self.maximumAnswerSizeInBytes)
        if response.status == .notFound { return nil }
        guard response.status == .ok else {
            throw ServerRefusal(path: path, status: Int(response.status.code), body: String(buffer: answer))
        }
        return try JSONValue(parsing: answer.readableBytesView)
    }
}

/// An answer other than the expected one.
struct ServerRefusal: Error, CustomStringConvertible {
    let path: String
    let status: Int
    let body: String

    var description: String {
        guard let problem = try? JSONValue(parsing: body.utf8), case .string(let code) = problem["code"] else {
            return "\(path) was answered with \(status): \(body.prefix(500))"
        }
        func text(_ name: String) -> String? { if case .string(let text) = problem[name] { text } else { nil } }
        let place = text("field").map { " at \($0)" } ?? ""
        return "the server answered \(status) \(code)\(place): \(text("detail") ?? text("title") ?? "")"
    }
}
