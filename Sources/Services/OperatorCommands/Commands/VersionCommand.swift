import ArgumentParser
import MartletCore

/// `martlet version`
struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "version", abstract: "Prints the version.")

    func run() {
        print(MartletVersion.current)
    }
}
