import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import NIOCore

/// Calls an app's scanner, which decides whether new files may be read.
///
/// Only an explicit verdict changes a file: after every other answer it stays unreadable, and the scanner is called
/// again. Unlike for other deliveries, 410 does not disable the hook, because new files would then be readable without
/// a check.
struct FileScan: Sendable {
    /// How long the link to a file's bytes is valid; the scanner must begin to read within this time.
    static let linkSeconds: Int64 = 900
    private static let undecided = "The scanner has not decided yet."
    private static let invalidAnswer = "The answer has no verdict: expected {\"allow\":true} or {\"allow\":false}."

    let deliveries: DeliveryStore
    let verdicts: FileVerdicts
    let fileSettings: FileSettings
    let client: HookClient
    let ledger: HookLedger
    let settings: HookSettings
    let logger: Logger

    /// Makes a claimed delivery. Does not throw: after an error it is made again when the lease ends.
    func make(_ claim: DeliveryStore.Claim, _ hook: Hook, in space: AppSchema) async {
        do {
            guard let file = try await deliveries.file(of: claim, to: hook.name, in: space) else {
                // The file was deleted, replaced or decided about in the meantime.
                return try await deliveries.settle(claim, status: nil, error: nil, pause: nil, in: space)
            }
            try await callScanner(about: file, claim, hook, in: space)
        } catch is CancellationError {
            // This copy is shutting down.
        } catch {
            logger.warning(
                "Could not scan a file; retrying.",
                metadata: ["delivery.id": "\(claim.webhookID)", "error.cause": "\(error)"])
        }
    }

    private func callScanner(
        about file: DeliveryStore.WaitingFile, _ claim: DeliveryStore.Claim, _ hook: Hook, in space: AppSchema
    ) async throws {
        let start = ContinuousClock.now
        let outcome = try await client.send(
            message(about: file, to: hook, in: space), id: claim.webhookID, to: hook, in: space)
        let verdict = outcome.isAccepted && outcome.status != 202 ? FileVerdict(outcome.body) : nil
        var failure = outcome.failure
        if let verdict {
            try await verdicts.apply(verdict, to: file.path, if: "blob = \(file.blob.id)", in: space)
            ledger.count(hook, verdict.isAllowed ? .answered : .refused, took: .now - start)
        } else if outcome.status == 202 {
            failure = Self.undecided
            ledger.count(hook, .answered, took: .now - start)
        } else if outcome.isAccepted {
            failure = Self.invalidAnswer
            await ledger.record(
                .answer, status: outcome.status, Self.invalidAnswer, of: hook, in: space, took: .now - start)
        } else {
            await ledger.record(outcome, of: hook, in: space, took: .now - start)
        }
        let pause = failure == nil ? nil : settings.pause(after: claim.attempts, outcome)
        if let failure, pause == nil {
            logger.warning(
                "A scanner did not decide about a file; the file stays unreadable.",
                metadata: [
                    "hook.name": "\(hook.name)", "delivery.id": "\(claim.webhookID)",
                    "error.cause": "\(outcome.cause ?? failure)",
                ])
        }
        try await deliveries.settle(claim, status: outcome.status, error: failure, pause: pause, in: space)
    }

    /// The file's record, and a link to its bytes relative to `/api/{appKey}/`.
    private func message(about file: DeliveryStore.WaitingFile, to hook: Hook, in space: AppSchema) -> ByteBuffer {
        let link = FileLink(
            environment: space.environment.rawValue, space: space.schema, path: file.path.text,
            fileID: FileStore.File.idForScanner(of: file.blob), thumbnail: nil,
            expires: Int64(fileSettings.now().timeIntervalSince1970) + Self.linkSeconds)
        let path = JSONValue.quote(fileSettings.signer.path(of: link))
        return ByteBuffer(
            string: """
                {"event":"scanFile","hook":\(JSONValue.quote(hook.name)),"file":\(file.record),"link":\(path)}
                """)
    }
}
