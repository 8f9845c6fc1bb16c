import ArgumentParser
import Foundation

/// `martlet openapi [--routes gateway/routes.json] [--write docs]`
struct OpenAPICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "openapi",
        abstract: "Prints the OpenAPI 3.1 description of the API, or writes it to a folder with the reference pages.")

    @Option(help: "The gateway's route file.")
    var routes = "gateway/routes.json"

    @Option(help: "Folder to write openapi.yaml and reference/*.md to. Default: print the description.")
    var write: String?

    func run() async throws {
        let gateway = try GatewayRoutes(try Data(contentsOf: URL(filePath: routes)))
        let all = try await ServiceRoute.all()
        var document = OpenAPIDocument(routes: all, gateway: gateway)
        guard let write else {
            print(document.yaml(), terminator: "")
            return
        }
        let folder = URL(filePath: write)
        try Data(document.yaml().utf8).write(to: folder.appending(path: "openapi.yaml"))
        let pages = folder.appending(path: "reference")
        try FileManager.default.createDirectory(at: pages, withIntermediateDirectories: true)
        for (name, text) in ReferencePages(routes: all, gateway: gateway).pages() {
            try Data(text.utf8).write(to: pages.appending(path: name))
        }
    }
}
