import Crypto
import Foundation
import Logging
import MartletCore
import MartletFiles
import MartletPostgres
import MartletSentry
import NIOCore

/// Makes of an envelope what is stored of it. Whatever is wrong with it becomes a report or a count: nothing is lost without a trace.
struct EnvelopeDigestion: Sendable {
    private static let maximumAttachments = 20
    private static let maximumRawLength = 16 << 10

    let spaces: Spaces
    let files: any FileBackend
    let room: AttachmentRoom
    let helpers: CrashHelpers
    let logger: Logger

    /// - Throws: what the database throws: then it is tried again.
    func digest(_ received: ReceivedEnvelope) async throws -> DigestedEnvelope {
        let space = try await spaces.space(of: received.appID, received.environment)
        var digested = DigestedEnvelope(space: space, received: received.received)
        guard let envelope = try? received.envelope(upTo: CrashIntake.Limits.envelope) else {
            digested.outcomes.append(DigestedOutcome(source: .server, category: .error, reason: "damaged", quantity: 1))
            return digested
        }
        for item in envelope.items { try await digest(item, of: envelope, received, into: &digested) }
        if !digested.feedback.isEmpty { digested.feedback[0].pictures = digested.pictures }
        for feedback in digested.feedback where !(try await helpers.feedback(feedback, space)) {
            digested.outcomes.append(DigestedOutcome(source: .server, category: .feedback, reason: "no_ticket", quantity: 1))
        }
        return digested
    }

    private func digest(_ item: Envelope.Item, of envelope: Envelope, _ received: ReceivedEnvelope, into digested: inout DigestedEnvelope) async throws {
        if item.type == "attachment" {
            if Self.isFeedback(envelope) { return keep(picture: item, &digested) }
            return try await attach(item, received, &digested)
        }
        let value: JSONValue
        do throws(JSONError) {
            value = try LooseJSON.value(item.payload)
        } catch {
            guard item.type == "event" else { return invalid(item, &digested) }
            digested.report = broken(item.payload, because: "\(error)", received, digested.space)
            return
        }
        switch item.type {
        case "event": digested.report = await report(value, sentAt: envelope.sentAt, received, digested.space)
        case "session":
            if let update = SessionUpdate(value, received: received.received) { digested.updates.append(update) } else { invalid(item, &digested) }
        case "sessions":
            let counts = SessionCounts.all(value, received: received.received)
            if counts.isEmpty { invalid(item, &digested) } else { digested.counts += counts }
        case "user_report":
            if let feedback = UserFeedback(userReport: value, eventID: received.eventID) {
                digested.feedback.append(DigestedFeedback(feedback, from: value))
            } else {
                invalid(item, &digested)
            }
        case "feedback":
            if let feedback = UserFeedback(feedback: value, eventID: received.eventID) {
                digested.feedback.append(DigestedFeedback(feedback, from: value))
            } else {
                invalid(item, &digested)
            }
        case "client_report":
            digested.outcomes += ClientReport(value).counts.map { DigestedOutcome(source: .client, category: $0.category, reason: $0.reason, quantity: $0.quantity) }
        case CrashIntake.dropReport: digested.outcomes += Self.dropped(value)
        default: invalid(item, &digested)
        }
    }

    /// Whether there is no report that its files could be of.
    private static func isFeedback(_ envelope: Envelope) -> Bool {
        envelope.items.contains { $0.type == "feedback" } && !envelope.items.contains { $0.type == "event" }
    }

    /// A picture of the screen, for the ticket.
    private func keep(picture item: Envelope.Item, _ digested: inout DigestedEnvelope) {
        guard digested.pictures.count < Feedback.maximumFiles, item.payload.count <= Feedback.maximumFileInBytes,
            ContentType.isPicture(ContentType.decide(declared: nil, prefix: Array(item.payload.prefix(512))))
        else { return invalid(item, &digested) }
        digested.pictures.append(
            Feedback.File(name: item.header["filename"]?.looseText ?? "", contentType: nil, bytes: ByteBuffer(bytes: item.payload)))
    }

    private func invalid(_ item: Envelope.Item, _ digested: inout DigestedEnvelope) {
        digested.outcomes.append(DigestedOutcome(source: .server, category: DataCategory(itemType: item.type) ?? .default, reason: "invalid", quantity: 1))
    }

    /// As `CrashIntake` wrote it.
    private static func dropped(_ value: JSONValue) -> [DigestedOutcome] {
        value.looseList.map { entry in
            DigestedOutcome(
                source: .server, category: DataCategory(name: entry["category"]?.looseText ?? ""), reason: entry["reason"]?.looseText ?? "",
                quantity: entry["quantity"]?.looseNumber.flatMap { Int(exactly: $0) } ?? 1)
        }
    }

    /// A report that was read, symbolicated and grouped.
    func report(_ value: JSONValue, sentAt: Date?, _ received: ReceivedEnvelope, _ space: Space) async -> DigestedReport {
        let symbolicated = await helpers.symbolicate(Event.form(of: value), space)
        guard let event = Event(symbolicated.report, id: received.eventID) else {
            return broken(Array(value.text.utf8)[...], because: "the event is no object", received, space)
        }
        return DigestedReport(
            event, Grouping(event), at: Self.time(event.timestamp, sentAt: sentAt, received.received), received: received.received, space: space,
            awaited: symbolicated.awaited)
    }

    /// By our clock: what the device's was off when it sent is taken off.
    static func time(_ timestamp: Date?, sentAt: Date?, _ received: Date) -> Date {
        guard var time = timestamp else { return received }
        if let sentAt, abs(received.timeIntervalSince(sentAt)) > 60 { time += received.timeIntervalSince(sentAt) }
        return time > received || time < received.addingTimeInterval(-365 * 86_400) ? received : time
    }

    private func broken(_ payload: ArraySlice<UInt8>, because reason: String, _ received: ReceivedEnvelope, _ space: Space) -> DigestedReport {
        let raw = String(decoding: payload.prefix(Self.maximumRawLength), as: UTF8.self).replacing("\0", with: "\u{fffd}")
        return DigestedReport(broken: raw, because: reason, eventID: received.eventID ?? UUID(), received: received.received, space: space)
    }

    /// Bytes first: their row comes with the report's. What cannot be kept is counted, and holds nothing up.
    private func attach(_ item: Envelope.Item, _ received: ReceivedEnvelope, _ digested: inout DigestedEnvelope) async throws {
        guard let eventID = received.eventID, digested.attachments.count < Self.maximumAttachments else { return invalid(item, &digested) }
        guard try await room.take(item.payload.count, in: digested.space) else {
            return digested.outcomes.append(DigestedOutcome(source: .server, category: .attachment, reason: "no_room", quantity: 1))
        }
        let name = (item.header["filename"]?.looseText ?? "attachment").cut(toBytes: 200)
        let blob = Self.blob(eventID, name, item.payload, digested.space)
        let bytes = ByteBuffer(bytes: item.payload)
        for attempt in 1...3 {
            do {
                let content = AsyncStream<ByteBuffer> { continuation in
                    continuation.yield(bytes)
                    continuation.finish()
                }
                _ = try await files.write(content, to: blob, limitInBytes: bytes.readableBytes)
                digested.attachments.append(
                    DigestedAttachment(
                        eventID: eventID, blob: blob.id, name: name,
                        contentType: (item.header["content_type"]?.looseText ?? "application/octet-stream").cut(toBytes: 200),
                        kind: (item.header["attachment_type"]?.looseText ?? "event.attachment").cut(toBytes: 100), sizeInBytes: bytes.readableBytes))
                return
            } catch {
                if attempt < 3 { try? await Task.sleep(for: .milliseconds(200)) } else {
                    logger.warning("An attachment of a report could not be kept.", metadata: ["error.cause": "\(error)"])
                }
            }
        }
        digested.outcomes.append(DigestedOutcome(source: .server, category: .attachment, reason: "not_stored", quantity: 1))
    }

    /// The same for the same bytes, so that what is digested again takes no more room.
    private static func blob(_ eventID: UUID, _ name: String, _ payload: ArraySlice<UInt8>, _ space: Space) -> BlobName {
        var hash = SHA256()
        hash.update(data: Array("\(eventID.eventID)\0\(name)\0".utf8))
        payload.withUnsafeBytes { hash.update(bufferPointer: $0) }
        let folder = "crash_\(space.id)"
        return BlobName(space: folder, id: String(Hexadecimal.text(hash.finalize()).prefix(32))) ?? .random(in: folder)
    }
}
