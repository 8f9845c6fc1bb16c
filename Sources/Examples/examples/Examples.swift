import ExampleApps
import Foundation

/// Runs the stories of the example apps, with a server that `deploy/up` started:
/// `swift run examples sportlook [--connection .martlet/connection.json]`.
@main
struct Examples {
    private static let usage = """
        usage: examples STORY [--connection FILE]
          sportlook                people meet at events and chat
          sportlook-load [PEOPLE]  1,000 people do so, and the time that each call takes
          offline-load [NOTES]     a phone keeps 10,000 notes, and the time that this takes
          findmybike               owners and others find missing bikes
          timetable                the server decides looks and texts; a crash becomes a ticket
          napton [FOLDER]          two apps that the server describes; their screens become pages in FOLDER
        """

    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("examples: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        var arguments = arguments
        var file = ".martlet/connection.json"
        if let option = arguments.firstIndex(of: "--connection"), option + 1 < arguments.count {
            file = arguments[option + 1]
            arguments.removeSubrange(option...option + 1)
        } else if let given = ProcessInfo.processInfo.environment["MARTLET_TEST_CONNECTION"] {
            file = given
        }
        guard let name = arguments.first else { return print(usage) }
        if name == "crash", arguments.count == 2 { try CrashingTimetable.run(in: URL(fileURLWithPath: arguments[1])) }
        let (developer, simulators) = (try Developer(connection: URL(fileURLWithPath: file)), Simulators())
        switch name {
        case "sportlook": try await SportLookStory.run(developer, simulators)
        case "sportlook-load":
            try await SportLookLoad.run(developer, people: count(arguments) ?? 1_000)
        case "offline-load": try await OfflineLoad.run(developer, count: count(arguments) ?? 10_000)
        case "findmybike": try await FindMyBikeStory.run(developer, simulators)
        case "napton":
            let folder = arguments.dropFirst().first ?? ".martlet/napton"
            try await NaptonStory.run(developer, pages: URL(fileURLWithPath: folder))
        case "timetable": try await TimetableStory.run(developer, crash: crash)
        default: print(usage)
        }
    }

    private static func count(_ arguments: [String]) -> Int? { arguments.dropFirst().first.flatMap { Int($0) } }

    /// Runs this program again, as the app that crashes.
    private static func crash(_ folder: URL) async throws {
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        process.arguments = ["crash", folder.path]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
    }
}
