import MartletAPI
import MartletCore
import MartletPostgres
import MartletPush

/// Finds the devices of an audience that cannot be reached because the app has no credential for their push service.
struct PushReach: Sendable {
    let postgres: PostgresClient
    let counter: AudienceCounter
    let segments: SegmentStore

    /// The devices that a message would not reach.
    struct Unreached: Sendable {
        /// The number of devices per push service without a credential.
        var devices: [(service: PushService, count: AudienceCounter.Count)] = []
        /// Whether there are devices and none of them can be reached.
        var isEverybody = false

        /// The members for an answer; empty if every device can be reached.
        var members: [JSONValue.Member] {
            guard !devices.isEmpty else { return [] }
            let list = devices.map { entry in
                JSONValue.object([
                    .init("service", .string(entry.service.rawValue)),
                    .init("devices", .number("\(entry.count.count)")), .init("isExact", .bool(entry.count.isExact)),
                ])
            }
            return [.init("withoutCredential", .array(list))]
        }

        /// - Throws: `push-credential-missing` if no device can be reached.
        func check() throws {
            guard isEverybody else { return }
            let list = devices.map {
                "\($0.service.rawValue) (\($0.count.isExact ? "" : "at least ")\($0.count.count))"
            }.joined(separator: ", ")
            throw ServiceError(
                .pushCredentialMissing,
                "No device of this audience can be reached: the app has no credential for \(list). Store one with PUT notifications/credentials/{kind}.",
                field: "audience")
        }
    }

    /// - Parameter isExact: Counts all devices; otherwise counting stops after 100,000 for each push service.
    /// - Throws: `segment-not-found`, `invalid-filter`.
    func unreached(_ audience: Audience, content: MessageContent, isExact: Bool, in space: Space) async throws
        -> Unreached
    {
        let stored = Set(
            try await postgres.query("SELECT kind FROM notifications.credentials WHERE space = \(space.id)").compactMap
            {
                CredentialKind(rawValue: try $0.decode(0))
            })
        let wanted = content.services.intersection(audience.services)
        let missing = wanted.filter { !stored.contains($0.credential) }
        guard !missing.isEmpty else { return Unreached() }
        var audiences = [audience]
        if let segment = audience.segment { audiences.append(try await segments.audience(segment, in: space)) }
        var unreached = Unreached()
        for service in missing.sorted(by: { $0.rawValue < $1.rawValue }) {
            let count = try await counter.count(
                audiences, content: content, services: [service], isExact: isExact, in: space)
            if count.count > 0 { unreached.devices.append((service, count)) }
        }
        guard !unreached.devices.isEmpty else { return unreached }
        let reached = wanted.subtracting(missing)
        let count =
            reached.isEmpty
            ? nil : try await counter.count(audiences, content: content, services: reached, isExact: isExact, in: space)
        unreached.isEverybody = count.map { $0.count == 0 && $0.isExact } ?? true
        return unreached
    }
}
