import Foundation
import MartletCore
import Testing
import Yams

/// In containers, too, every setting in docs/OPERATIONS.md reaches the processes that know it.
@Suite struct ContainerSettingsTests {
    private static let services = ServiceName.allCases.map(\.rawValue)
    /// Settings that containers do not have, because they have no files and folders other than the mounted ones.
    private static let exceptions: Set<String> = [
        "MARTLET_HTTP_SOCKET", "MARTLET_ROUTES_FILE", "MARTLET_STATE_DIRECTORY",
    ]

    /// Settings in the file of secrets of each process, which `deploy/containers` writes.
    private static let secrets: Set<String> = [
        "MARTLET_INTERNAL_SECRET", "MARTLET_DATABASE_URL", "MARTLET_MAIL_PASSWORD", "MARTLET_FILES_S3_SECRET",
        "MARTLET_TRACES_HEADERS",
    ]

    private static func text(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The variables in the environment of each process's container, and the settings in its file of secrets.
    private static func passed() throws -> [String: Set<String>] {
        let file = try #require(try Yams.load(yaml: try text("deploy/compose.yaml")) as? [String: Any])
        let services = try #require(file["services"] as? [String: [String: Any]])
        return services.mapValues { service in
            let variables = Set((service["environment"] as? [String: Any] ?? [:]).keys)
            let files = (service["secrets"] as? [[String: String]] ?? []).map { $0["target"] }
            let hasSecrets = variables.contains("MARTLET_CONFIG_FILE") && files == ["martlet.json"]
            return hasSecrets ? variables.union(secrets) : variables
        }
    }

    private struct Setting {
        var variable: String
        var processes: [String]
    }

    /// The rows of the tables under headings that name processes.
    private static func documented() throws -> [Setting] {
        var settings: [Setting] = []
        var processes: [String] = []
        for line in try text("docs/OPERATIONS.md").split(separator: "\n") {
            if line.hasPrefix("##") {
                let names = line.prefix { $0 != ":" }.split { !$0.isLetter }.map(String.init)
                processes = line.hasPrefix("### ") ? (services + ["gateway"]).filter(names.contains) : []
            } else if !processes.isEmpty, line.hasPrefix("| `") {
                let cells = line.split(separator: " | ").map(String.init)
                let named = cells[2].prefix { $0 != ":" }.split { !$0.isLetter }.map(String.init)
                let own = cells[2].contains(":") ? processes.filter(named.contains) : []
                settings += variables(cells[0]).map { Setting(variable: $0, processes: own.isEmpty ? processes : own) }
            }
        }
        return settings
    }

    /// In "`mail.user`, `.password`", a word with a leading dot replaces the last part of the previous one.
    private static func variables(_ cell: String) -> [String] {
        var first: [Substring] = []
        return cell.matches(of: /`([a-z0-9.]+)`/).map { match in
            let words = match.1.split(separator: ".")
            if !match.1.hasPrefix(".") { first = words }
            let all = match.1.hasPrefix(".") ? first.dropLast(words.count) + words : words
            return "MARTLET_" + all.joined(separator: "_").uppercased()
        }
    }

    @Test func `compose.yaml passes on every documented setting`() throws {
        let (settings, passed) = (try Self.documented(), try Self.passed())
        #expect(settings.count > 100)
        for setting in settings where !Self.exceptions.contains(setting.variable) {
            for process in setting.processes {
                #expect(passed[process]?.contains(setting.variable) == true, "\(setting.variable) of \(process)")
            }
        }
    }
}
