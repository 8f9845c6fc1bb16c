import ArgumentParser
import Foundation

/// `martlet connection`
struct ConnectionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connection",
        abstract: "Prints how to reach a running server, as `martlet up` does when it is ready.")

    @Option(help: "The server's state folder.")
    var state = ".martlet"

    func run() throws {
        let file = URL(fileURLWithPath: state).appending(path: "connection.json")
        guard let connection = try? Connection.read(from: file) else {
            throw ValidationError("\(file.path) cannot be read; a server creates it when it starts")
        }
        print(connection.announcement(file: file), terminator: "")
    }
}
