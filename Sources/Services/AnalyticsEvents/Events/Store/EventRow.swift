import Foundation
import MartletPostgres

/// A row of the events table.
struct EventRow: Sendable {
    var space: Int
    var kind: EventKind
    var at: Date
    var earliest: Date
    var key: Int64
    var subject: IncomingEvent.Subject
    var properties: String
    /// The numbers that `Terms` assigned to the event's texts; 0 if the event has no such text.
    var name = 0
    var release = 0
    var os = 0
    var device = 0
    var configuration = 0
    var variants = 0
    var country = 0
}

extension EventRow {
    init(_ event: IncomingEvent, in space: Space, _ numbers: [Term: Int]) {
        self.init(
            space: Int(space.id), kind: event.kind, at: event.at, earliest: event.earliest, key: event.key,
            subject: event.subject,
            properties: event.properties)
        for (kind, text) in event.texts {
            let number = numbers[Term(space: space.id, kind: kind, text: text)] ?? 0
            switch kind {
            case .name: name = number
            case .release: release = number
            case .os: os = number
            case .device: device = number
            case .configuration: configuration = number
            case .variants: variants = number
            case .country: country = number
            }
        }
    }
}

extension IncomingEvent {
    /// The texts that are stored once as a term, with their kinds.
    var texts: [(TermKind, String)] { dimensions.texts + (name.map { [(.name, $0)] } ?? []) }
}
