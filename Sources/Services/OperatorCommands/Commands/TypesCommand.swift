import ArgumentParser
import MartletCore
import MartletSchema
import NIOHTTP1

/// `martlet types (swift | typescript) --url URL --key KEY`
struct TypesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "types", abstract: "Writes types for an app's code from the schemas of its collections.",
        subcommands: [Swift.self, TypeScript.self])

    struct Swift: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Prints Swift source text with Codable types.")

        @OptionGroup var server: ServerOptions

        func run() async throws {
            print(SwiftTypes.text(for: try await CollectionSchemas(api: server.api).all()), terminator: "")
        }
    }

    struct TypeScript: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "typescript", abstract: "Prints TypeScript source text with interfaces.")

        @OptionGroup var server: ServerOptions

        func run() async throws {
            print(TypeScriptTypes.text(for: try await CollectionSchemas(api: server.api).all()), terminator: "")
        }
    }
}

/// The schemas of an app's collections, read from a running server.
struct CollectionSchemas {
    let api: ServerAPI

    /// The schemas of all collections that have one, by name.
    func all() async throws -> [(collection: String, schema: JSONValue)] {
        guard case .array(let collections) = try await api.send(.GET, "/collections")?["data"] else {
            throw ValidationError("the server's list of collections has an unknown form")
        }
        var schemas: [(collection: String, schema: JSONValue)] = []
        for collection in collections {
            guard case .string(let name) = collection["name"] else { continue }
            guard let document = try await api.send(.GET, "/collections/\(name)/schema") else { continue }
            do {
                schemas.append((name, try JSONSchema(parsing: document.text.utf8).document))
            } catch {
                throw ValidationError("the schema of \(name) is not known to this version: \(error.message)")
            }
        }
        return schemas
    }
}
