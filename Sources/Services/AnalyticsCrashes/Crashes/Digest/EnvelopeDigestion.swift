import Foundation
import Logging
import MartletCore
import MartletFiles
import MartletPostgres
import MartletSentry

/// Turns an envelope into reports and counts to store. A fault in the envelope also becomes a report or a count, so
/// that nothing is lost silently.
struct EnvelopeDigestion: Sendable {
    private static let maximumRawLength = 16 << 10

    let spaces: Spaces
    let files: any FileBackend
    let attachmentQuota: AttachmentQuota
    let helpers: CrashHelpers
    let logger: Logger

    /// - Throws: Database errors, after which the envelope is retried.
    func digest(_ received: ReceivedEnvelope) async throws -> DigestedEnvelope {
        let space = try await spaces.space(of: received.appID, received.environment)
        var digested = DigestedEnvelope(space: space, received: received.received)
        guard let envelope = try? received.envelope(upTo: CrashIntake.Limits.envelope) else {
            digested.outcomes.append(DigestedOutcome(source: .server, category: .error, reason: "damaged", quantity: 1))
            return digested
        }
        for item in envelope.items { try await digest(item, of: envelope, received, into: &digested) }
        for index in digested.feedback.indices {
            var feedback = digested.feedback[index]
            if index == 0 { feedback.pictures = digested.pictures }
            if try await helpers.feedback(feedback, space) { continue }
            digested.outcomes.append(
                DigestedOutcome(source: .server, category: .feedback, reason: "no_ticket", quantity: 1))
        }
        // The images are stored with the ticket now. Free their memory before the batch is stored.
        digested.pictures = []
        return digested
    }

    /// Counts an envelope that is set aside; nothing else of it is stored.
    func refused(_ received: ReceivedEnvelope, because refusal: DigestionRefusal) async throws -> DigestedEnvelope {
        var digested = DigestedEnvelope(
            space: try await spaces.space(of: received.appID, received.environment), received: received.received)
        digested.outcomes.append(
            DigestedOutcome(source: .server, category: .error, reason: refusal.rawValue, quantity: 1))
        return digested
    }

    private func digest(
        _ item: Envelope.Item, of envelope: Envelope, _ received: ReceivedEnvelope,
        into digested: inout DigestedEnvelope
    ) async throws {
        if item.type == "attachment" {
            if Self.isFeedback(envelope) { return keep(picture: item, &digested) }
            return try await attach(item, received, &digested)
        }
        let value: JSONValue
        do throws(JSONError) {
            value = try LooseJSON.value(item.payload)
        } catch {
            guard item.type == "event" else { return countInvalid(item, &digested) }
            digested.report = broken(item.payload, because: "\(error)", received, digested.space)
            return
        }
        switch item.type {
        case "event": digested.report = await report(value, sentAt: envelope.sentAt, received, digested.space)
        case "session":
            if let update = SessionUpdate(value, received: received.received) {
                digested.updates.append(update)
            } else {
                countInvalid(item, &digested)
            }
        case "sessions":
            let counts = SessionCounts.all(value, received: received.received)
            if counts.isEmpty { countInvalid(item, &digested) } else { digested.counts += counts }
        case "user_report":
            if let feedback = UserFeedback(userReport: value, eventID: received.eventID) {
                digested.feedback.append(DigestedFeedback(feedback, from: value))
            } else {
                countInvalid(item, &digested)
            }
        case "feedback":
            if let feedback = UserFeedback(feedback: value, eventID: received.eventID) {
                digested.feedback.append(DigestedFeedback(feedback, from: value))
            } else {
                countInvalid(item, &digested)
            }
        case "client_report":
            digested.outcomes += ClientReport(value).counts.map {
                DigestedOutcome(source: .client, category: $0.category, reason: $0.reason, quantity: $0.quantity)
            }
        case CrashIntake.dropReport: digested.outcomes += Self.dropped(value)
        default: countInvalid(item, &digested)
        }
    }

    func countInvalid(_ item: Envelope.Item, _ digested: inout DigestedEnvelope) {
        digested.outcomes.append(
            DigestedOutcome(
                source: .server, category: DataCategory(itemType: item.type) ?? .default, reason: "invalid", quantity: 1
            ))
    }

    /// Parses a report written by `CrashIntake`.
    private static func dropped(_ value: JSONValue) -> [DigestedOutcome] {
        value.looseList.map { entry in
            DigestedOutcome(
                source: .server, category: DataCategory(name: entry["category"]?.looseText ?? ""),
                reason: entry["reason"]?.looseText ?? "",
                quantity: entry["quantity"]?.looseNumber.flatMap { Int(exactly: $0) } ?? 1)
        }
    }

    /// Symbolicates and groups a report.
    func report(_ value: JSONValue, sentAt: Date?, _ received: ReceivedEnvelope, _ space: Space) async -> DigestedReport
    {
        let symbolicated = await helpers.symbolicate(Event.sentryForm(of: value), space)
        guard let event = Event(symbolicated.report, id: received.eventID) else {
            return broken(Array(value.text.utf8)[...], because: "the event is not an object", received, space)
        }
        return DigestedReport(
            event, Grouping(event), at: Self.time(event.timestamp, sentAt: sentAt, received.received),
            received: received.received, space: space,
            awaited: symbolicated.awaited)
    }

    /// The time by our clock, corrected by the device's clock offset at the time of sending.
    static func time(_ timestamp: Date?, sentAt: Date?, _ received: Date) -> Date {
        guard var time = timestamp else { return received }
        if let sentAt, abs(received.timeIntervalSince(sentAt)) > 60 { time += received.timeIntervalSince(sentAt) }
        return time > received || time < received.addingTimeInterval(-365 * 86_400) ? received : time
    }

    private func broken(
        _ payload: ArraySlice<UInt8>, because reason: String, _ received: ReceivedEnvelope, _ space: Space
    ) -> DigestedReport {
        let raw = String(decoding: payload.prefix(Self.maximumRawLength), as: UTF8.self).replacing(
            "\0", with: "\u{fffd}")
        return DigestedReport(
            broken: raw, because: reason, eventID: received.eventID ?? UUID(), received: received.received, space: space
        )
    }
}
