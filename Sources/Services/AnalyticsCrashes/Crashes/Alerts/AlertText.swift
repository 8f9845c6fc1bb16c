import Foundation
import MartletAPI
import MartletCore
import MartletSentry

/// The text of an alert's mail: plain text, with a line for each issue's title. The notifications service puts the
/// app's name in front of it. Titles are shown as patterns, without numbers, addresses and quoted text, because they
/// may repeat what an end user wrote.
struct AlertText: Sendable, Equatable {
    private static let maximumWordsSize = 300
    /// Maximum size of all listed issues together, in bytes. Further issues are only counted. The notifications service
    /// accepts texts of 16 KiB.
    private static let maximumIssuesSize = 14 << 10

    var app: String
    var environment: String
    var subject: String
    var text: String

    /// - Parameters:
    ///   - body: The JSON that `FiringAlert.message` makes. If it names no app, the initializer returns nil.
    ///   - address: The public address of the gateway.
    init?(_ body: String, linkingTo address: URL) {
        guard let message = try? JSONValue(parsing: body.utf8), let data = message["data"],
            case .string(let app) = data["app"],
            case .string(let environment) = data["environment"]
        else { return nil }
        (self.app, self.environment) = (app, environment)
        guard data["test"] == nil else {
            subject = "test of a crash alert"
            text = "This is a test of a crash alert. No action is needed.\n"
            return
        }
        let name = Self.words(data["alert"]?["name"])
        let issues: [JSONValue] = if case .array(let elements)? = data["issues"] { elements } else { [] }
        subject = Self.subject(data, name, issues)
        var lines = ["The alert \"\(name)\" fired: \(Self.reason(data))."]
        var (shown, size) = (0, 0)
        for issue in issues {
            let words = [""] + Self.lines(issue, address.appending(path: "admin/apps/\(app)/crashes/issues"))
            size += words.reduce(0) { $0 + $1.utf8.count + 1 }
            guard size <= Self.maximumIssuesSize else { break }
            (lines, shown) = (lines + words, shown + 1)
        }
        let count = max(issues.count, data["count"].flatMap(Self.number) ?? 0)
        if count > shown { lines += ["", "And \(count - shown) more."] }
        lines += ["", "Anyone who manages the app's crashes can change or delete this alert."]
        text = lines.joined(separator: "\n") + "\n"
    }

    private static func subject(_ data: JSONValue, _ name: String, _ issues: [JSONValue]) -> String {
        guard let first = issues.first, issues.count == 1, data["measure"] == nil else { return "crash alert \(name)" }
        return "\(data["alert"]?["kind"] == .string("regression") ? "came back" : "new"): \(pattern(first["title"]))"
    }

    private static func reason(_ data: JSONValue) -> String {
        let counted = words(data["measure"])
        let value = data["value"]?.text
        switch data["alert"]?["kind"] {
        case .string("newIssue"): return "new issues"
        case .string("regression"): return "issues that came back"
        case .string("crashFree"):
            let threshold = (data["threshold"]?.text).map { "\($0) %" } ?? "the threshold"
            return "\(value ?? "too few") % of \(counted) were free of crashes, less than \(threshold)"
        default:
            let seconds = data["windowSeconds"]?.text ?? ""
            return
                "\(value.map { "\($0) \(counted)" } ?? "issues with \(data["threshold"]?.text ?? "") \(counted) or more") within \(seconds) s"
        }
    }

    private static func lines(_ issue: JSONValue, _ list: URL) -> [String] {
        let number = issue["number"]?.text ?? ""
        var lines = ["#\(number) \(pattern(issue["title"]))"]
        if case .string(let culprit)? = issue["culprit"], !culprit.isEmpty {
            lines.append("  at \(words(issue["culprit"]))")
        }
        var facts =
            "  \(words(issue["level"])), \(words(issue["state"])), \(issue["events"]?.text ?? "0") events, \(issue["users"]?.text ?? "0") users"
        if let value = issue["value"] { facts += ", \(value.text) of them counted by this alert" }
        lines.append(facts)
        let (first, last) = (words(issue["firstRelease"]), words(issue["lastRelease"]))
        if !first.isEmpty { lines.append("  release \(first)" + (last.isEmpty || last == first ? "" : " to \(last)")) }
        lines.append("  " + list.appending(path: number).absoluteString)
        return lines
    }

    private static func number(_ value: JSONValue) -> Int? { Int(value.text) }

    private static func pattern(_ title: JSONValue?) -> String {
        guard case .string(let text)? = title else { return "" }
        return words(.string(MessagePattern.of(text)))
    }

    /// The text on one line, cut to a maximum size, without invisible characters and those that change the writing
    /// direction.
    private static func words(_ value: JSONValue?) -> String {
        guard case .string(let text)? = value else { return "" }
        let line = text.unicodeScalars.split { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: true
            default: false
            }
        }.map { String($0) }.joined(separator: " ")
        return line.utf8.count > maximumWordsSize ? line.cut(toBytes: maximumWordsSize) + "…" : line
    }
}
