import ArgumentParser
import AsyncHTTPClient
import Foundation
import MartletAPI
import NIOCore
import NIOHTTP1

/// `martlet health URL`
struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Exits with status 0 if the address answers 200, otherwise 1. For container health checks.")

    @Argument(help: "For example http://127.0.0.1:9202/health/ready.")
    var url: String

    func run() async throws {
        guard let problem = await Health.problem(url) else { return }
        FileHandle.standardError.write(Data("martlet health: \(url) \(problem)\n".utf8))
        throw ExitCode(1)
    }
}

/// Calls a health address once.
enum Health {
    static func isOK(_ url: String) async -> Bool { await problem(url) == nil }

    /// The body of an answer with status 200, at most 1 MiB.
    static func text(_ url: String) async -> String? {
        guard let response = try? await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .seconds(2)),
            response.status == .ok, let body = try? await response.body.collect(upTo: 1 << 20)
        else { return nil }
        return String(buffer: body)
    }

    /// The version of each process of a running server; nil for those that do not answer.
    static func versions(of connection: Connection?) async -> [String: String?] {
        var versions: [String: String?] = [:]
        for (name, address) in connection?.internalServices ?? [:] {
            let request = HTTPClientRequest(url: address + "/health/ready")
            let response = try? await HTTPClient.shared.execute(request, timeout: .seconds(2))
            versions.updateValue(response?.headers.first(name: HeaderName.version), forKey: name)
        }
        return versions
    }

    /// The problem, as the end of a sentence; nil if the address answers 200.
    static func problem(_ url: String) async -> String? {
        do {
            let response = try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .seconds(2))
            return response.status == .ok ? nil : "answered \(response.status.code)"
        } catch {
            return "did not answer: \(error)"
        }
    }
}
