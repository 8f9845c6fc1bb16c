import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// `martlet health URL`
struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health", abstract: "Exits 0 when the address answers 200, else 1. For container health checks.")

    @Argument(help: "For example http://127.0.0.1:9202/health/ready.")
    var url: String

    func run() async throws {
        guard await Health.isOK(url) else { throw ExitCode(1) }
    }
}

/// Asks a health address once.
enum Health {
    static func isOK(_ url: String) async -> Bool {
        let response = try? await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .seconds(2))
        return response?.status == .ok
    }
}
