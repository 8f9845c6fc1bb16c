import AnalyticsTickets
import Crypto
import Foundation
import Logging
import MartletCore
import MartletFiles
import MartletPostgres
import MartletSentry
import NIOCore

/// Attachments of reports and images of feedback.
extension EnvelopeDigestion {
    private static let maximumAttachments = 20

    /// Whether the envelope has feedback but no report that its files could belong to.
    static func isFeedback(_ envelope: Envelope) -> Bool {
        envelope.items.contains { $0.type == "feedback" } && !envelope.items.contains { $0.type == "event" }
    }

    /// Keeps an image for the feedback's ticket.
    func keep(picture item: Envelope.Item, _ digested: inout DigestedEnvelope) {
        guard digested.pictures.count < Feedback.maximumFiles, item.payload.count <= Feedback.maximumFileInBytes,
            ContentType.isPicture(ContentType.decide(declared: nil, prefix: Array(item.payload.prefix(512))))
        else { return countInvalid(item, &digested) }
        digested.pictures.append(
            Feedback.File(
                name: item.header["filename"]?.looseText ?? "", contentType: nil, bytes: ByteBuffer(bytes: item.payload)
            ))
    }

    /// Stores the bytes of an attachment. The attachment's row is stored with the report. A failure is counted and does
    /// not delay the report.
    func attach(_ item: Envelope.Item, _ received: ReceivedEnvelope, _ digested: inout DigestedEnvelope) async throws {
        guard let eventID = received.eventID, digested.attachments.count < Self.maximumAttachments else {
            return countInvalid(item, &digested)
        }
        guard try await attachmentQuota.take(item.payload.count, in: digested.space) else {
            return digested.outcomes.append(
                DigestedOutcome(source: .server, category: .attachment, reason: "no_room", quantity: 1))
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
                        contentType: (item.header["content_type"]?.looseText ?? "application/octet-stream").cut(
                            toBytes: 200),
                        kind: (item.header["attachment_type"]?.looseText ?? "event.attachment").cut(toBytes: 100),
                        sizeInBytes: bytes.readableBytes))
                return
            } catch {
                if attempt < 3 {
                    try? await Task.sleep(for: .milliseconds(200))
                } else {
                    logger.warning(
                        "Could not store an attachment of a crash report; dropping it.",
                        metadata: ["error.cause": "\(error)"])
                }
            }
        }
        digested.outcomes.append(
            DigestedOutcome(source: .server, category: .attachment, reason: "not_stored", quantity: 1))
    }

    /// A name derived from the content, so that digesting a report again takes no additional space.
    private static func blob(_ eventID: UUID, _ name: String, _ payload: ArraySlice<UInt8>, _ space: Space) -> BlobName
    {
        var hash = SHA256()
        hash.update(data: Array("\(eventID.eventID)\0\(name)\0".utf8))
        payload.withUnsafeBytes { hash.update(bufferPointer: $0) }
        let folder = BlobName.crashSpace(space.id)
        return BlobName(space: folder, id: String(Hexadecimal.text(hash.finalize()).prefix(32))) ?? .random(in: folder)
    }
}
