import ArgumentParser
import Foundation
import MartletCore

/// `martlet version`
struct VersionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version", abstract: "Prints the version.",
        discussion: """
            With --check, also the version of each running process. The exit status is 1 if one does not answer or has \
            another version, as after an upgrade that did not restart it.
            """)

    @Flag(help: "Compare with the processes of the running server.")
    var check = false

    @Option(help: "The server's state folder, for --check. Default: .martlet, or that of the package if there is one.")
    var state: String?

    func run() async throws {
        print(MartletVersion.current)
        guard check else { return }
        let file = URL(fileURLWithPath: StateFolder.path(state)).appending(path: "connection.json")
        guard let connection = try? Connection.read(from: file) else {
            throw ValidationError("could not read \(file.path): run this as the server's user, or set --state")
        }
        let versions = await Health.versions(of: connection)
        for (name, version) in versions.sorted(by: { $0.key < $1.key }) {
            print("\(name) \(version ?? "does not answer")")
        }
        if versions.values.contains(where: { $0 != MartletVersion.current }) { throw ExitCode(1) }
    }
}

/// The state folder of a command that does not name one.
enum StateFolder {
    private static let ofPackage = "/var/lib/martlet"

    static func path(_ given: String?) -> String {
        if let given { return given }
        let files = FileManager.default
        let isPackage =
            !files.fileExists(atPath: ".martlet") && files.fileExists(atPath: ofPackage + "/connection.json")
        return isPackage ? ofPackage : ".martlet"
    }
}
