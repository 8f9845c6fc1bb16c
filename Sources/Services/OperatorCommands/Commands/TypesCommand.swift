import ArgumentParser
import AsyncHTTPClient
import Foundation
import MartletCore
import MartletSchema
import NIOCore
import NIOHTTP1

/// `martlet types (swift | typescript) --url URL --key KEY`
struct TypesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "types", abstract: "Writes types for an app's code from the schemas of its collections.",
        subcommands: [Swift.self, TypeScript.self])

    struct Swift: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Prints Swift source text with Codable types.")

        @OptionGroup var app: AppOptions

        func run() async throws {
            print(SwiftTypes.text(for: try await app.schemas()), terminator: "")
        }
    }

    struct TypeScript: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "typescript", abstract: "Prints TypeScript source text with interfaces.")

        @OptionGroup var app: AppOptions

        func run() async throws {
            print(TypeScriptTypes.text(for: try await app.schemas()), terminator: "")
        }
    }

    struct AppOptions: ParsableArguments {
        @Option(help: "The API's address with the app key: https://example.org/api/APPKEY.")
        var url: String

        @Option(help: "The app's master key. Default: MARTLET_MASTER_KEY.")
        var key: String?

        @Option(help: "live or test.")
        var environment = "live"

        func schemas() async throws -> [(collection: String, schema: JSONValue)] {
            guard let key = key ?? ProcessInfo.processInfo.environment["MARTLET_MASTER_KEY"] else {
                throw ValidationError("--key or MARTLET_MASTER_KEY is needed")
            }
            guard environment == "live" || environment == "test" else {
                throw ValidationError("an environment must be live or test")
            }
            return try await CollectionSchemas(url: url, key: Secret(key), environment: environment).all()
        }
    }
}

/// The schemas of an app's collections, read from a running server.
struct CollectionSchemas {
    let url: String
    let key: Secret
    let environment: String

    /// The schemas of all collections that have one, by name.
    func all() async throws -> [(collection: String, schema: JSONValue)] {
        guard case .array(let collections) = try await get("/collections")?["data"] else {
            throw ValidationError("the server's list of collections has an unknown form")
        }
        var schemas: [(collection: String, schema: JSONValue)] = []
        for collection in collections {
            guard case .string(let name) = collection["name"] else { continue }
            guard let document = try await get("/collections/\(name)/schema") else { continue }
            do {
                schemas.append((name, try JSONSchema(parsing: document.text.utf8).document))
            } catch {
                throw ValidationError("the schema of \(name) is not known to this version: \(error.message)")
            }
        }
        return schemas
    }

    /// Nil if the answer is 404.
    private func get(_ path: String) async throws -> JSONValue? {
        var request = HTTPClientRequest(url: (url.hasSuffix("/") ? String(url.dropLast()) : url) + path)
        request.headers.add(name: "X-Martlet-Master-Key", value: key.withValue { $0 })
        request.headers.add(name: "X-Martlet-Environment", value: environment)
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let body = try await response.body.collect(upTo: 4 << 20)
        if response.status == .notFound { return nil }
        guard response.status == .ok else {
            throw ValidationError(
                "\(path) was answered with \(response.status.code): \(String(buffer: body).prefix(500))")
        }
        return try JSONValue(parsing: body.readableBytesView)
    }
}
