import Foundation
import Logging
import MartletAPI
import MartletCore

/// Follows the key ring feed of `auth` and reports which credentials were used.
struct KeyRingFeed: Sendable {
    let auth: InternalClient
    let file: KeyRingFile
    let logger: Logger

    /// Passes every new key ring to `publish` until cancelled.
    func follow(_ publish: @Sendable (KeyRing) async -> Void) async {
        await Feed.follow { version in
            guard let data = try await auth.poll(feed: "keyring", after: version) else { return version }
            let ring = try KeyRingFile.decode(data)
            await publish(ring)
            save(ring)
            return ring.version
        } didFail: { error in
            logger.warning(
                "The key ring feed failed; continuing with the last key ring.", metadata: ["error": "\(error)"])
        }
    }

    func report(_ used: [String: Date]) async throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        try await auth.post("/internal/credentials/used", try encoder.encode(CredentialUse(used: used)))
    }

    private func save(_ ring: KeyRing) {
        do {
            try file.save(ring)
        } catch {
            logger.error(
                "Could not write the key ring to disk; a restart without auth would use an older one.",
                metadata: ["error": "\(error)"])
        }
    }
}
