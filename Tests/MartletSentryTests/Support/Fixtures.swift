import Foundation
import MartletCore
import MartletSentry

/// Crashes of iOS apps from getsentry/sentry-cocoa, outside the repository: in `MARTLET_VECTORS`, or
/// `../shared/vectors`.
enum Fixtures {
    /// In the form of a Sentry event.
    static let event = "converted-event.json"
    /// In the form of KSCrash.
    static let abort = "Abort.json"
    static let exception = "NSException.json"
    static let badAccess = "crash-bad-access.json"
    static let all = [event, abort, exception, badAccess]

    static var exist: Bool { all.allSatisfy { FileManager.default.fileExists(atPath: url($0).path) } }

    private static func url(_ name: String) -> URL {
        let folder = ProcessInfo.processInfo.environment["MARTLET_VECTORS"] ?? "../shared/vectors"
        return URL(fileURLWithPath: folder).appendingPathComponent("sentry/" + name)
    }

    static func json(_ name: String) throws -> JSONValue {
        try LooseJSON.value(Array(Data(contentsOf: url(name))))
    }

    static func event(_ name: String, _ change: (JSONValue) -> JSONValue = { $0 }) throws -> Event {
        guard let event = Event(Event.sentryForm(of: change(try json(name))), id: nil) else {
            throw CocoaError(.coderInvalidValue)
        }
        return event
    }
}

extension JSONValue {
    static func parse(_ text: String) throws -> JSONValue { try LooseJSON.value(Array(text.utf8)) }

    /// Replaces each member with the result of `change`; nil keeps it and descends into it.
    func mapped(_ change: (String, JSONValue) -> JSONValue?) -> JSONValue {
        switch self {
        case .object(let members):
            .object(members.map { .init($0.name, change($0.name, $0.value) ?? $0.value.mapped(change)) })
        case .array(let elements): .array(elements.map { $0.mapped(change) })
        default: self
        }
    }

    /// The same crash in another process, container and, if functions have names, build.
    func inAnotherProcess(slide: UInt64, moved: UInt64 = 0) -> JSONValue {
        mapped { name, value in
            switch name {
            case "image_addr", "object_addr": value.shifted(slide)
            case "instruction_addr", "symbol_addr", "relevant_address", "address": value.shifted(slide + moved)
            case "debug_id", "uuid", "app_uuid", "event_id", "id":
                value.looseText.map { .string(String($0.reversed())) }
            case "package", "code_file", "name":
                value.looseText.map {
                    .string(
                        $0.replacing(
                            #/Application\/[0-9A-F-]{36}/#, with: "Application/00000000-1111-2222-3333-444444444444"))
                }
            case "timestamp": .string("2026-11-20T10:00:00Z")
            default: nil
            }
        }
    }

    private func shifted(_ slide: UInt64) -> JSONValue? {
        switch self {
        case .number(let literal): UInt64(literal).map { .number("\($0 &+ slide)") }
        case .string(let text) where text.hasPrefix("0x"):
            UInt64(text.dropFirst(2), radix: 16).map { .string($0 == 0 ? text : "0x" + String($0 &+ slide, radix: 16)) }
        default: nil
        }
    }
}
