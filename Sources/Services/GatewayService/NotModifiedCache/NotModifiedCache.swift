import MartletAPI
import MartletCore
import NIOCore

/// 304 answers from an upstream that the gateway may repeat by itself until something new is published.
///
/// An upstream marks such an answer with `X-Martlet-Generation: <space> <n>`. The answer depends only on the request
/// target, `If-None-Match` and the app's environment (the space), and is valid while the space is at generation `n`.
/// `GenerationFeed` supplies the generations; without it no answer is valid and every request is forwarded.
/// Credentials, permissions and limits are checked first.
///
/// Confined to one event loop.
final class NotModifiedCache {
    private static let maximumCount = 10_000
    private static let maximumKeyInBytes = 1_024

    /// Everything an answer depends on, as bytes.
    typealias Key = [UInt8]

    private struct Known {
        let generation: Int64
        let answer: Answer
    }

    /// Current generation by space; nil while unknown.
    var generations: [String: Int64]? {
        didSet {
            // After a restore, a space may reach the same generation again with different contents.
            if let old = oldValue, let new = generations, old.contains(where: { new[$0.key, default: 0] < $0.value }) {
                known = [:]
            }
        }
    }
    private var known: [Key: Known] = [:]

    /// Nil for requests whose answers must not be repeated.
    static func key(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer, _ admission: Admission) -> Key? {
        guard admission.match.route.generationPath != nil, head.method.isSafe, !head.hasBody,
            let grant = admission.grant,
            grant.principal.kind == .client
        else { return nil }
        // The service evaluates all If-None-Match lines, so a key made from only one of them would be wrong.
        let tags = head.fields.filter { bytes[$0.name].spells("if-none-match") }
        guard tags.count == 1, let tag = tags.first else { return nil }
        let length = Int(head.target.count) + Int(tag.value.count)
        guard length <= maximumKeyInBytes else { return nil }
        var key: Key = []
        key.reserveCapacity(length + 64)
        // No part contains a line feed.
        key += bytes[head.target]
        key.append(UInt8(ascii: "\n"))
        key += bytes[tag.value]
        key.append(UInt8(ascii: "\n"))
        key += space(of: grant).utf8
        return key
    }

    func answer(to key: Key, for grant: Grant) -> Answer? {
        guard let generations, let known = known[key], generations[Self.space(of: grant)] == known.generation else {
            return nil
        }
        return known.answer
    }

    /// Stores an upstream's answer if it is marked.
    func record(_ head: ResponseHead, _ bytes: UnsafeRawBufferPointer, to key: Key, for grant: Grant) {
        guard head.status == 304, generations != nil,
            let mark = head.fields.first(where: { bytes[$0.name].spells("x-martlet-generation") })
        else { return }
        let parts = bytes[mark.value].text.split(separator: " ")
        guard parts.count == 2, parts[0] == Self.space(of: grant), let generation = Int64(parts[1]) else { return }
        var answer = Answer(status: 304)
        for field in head.fields where head.forwards(field, bytes, hasOrigin: false) {
            guard field.meaning == .other, !bytes[field.name].spells("date") else { continue }
            // HTTP/2 requires lower-case names (RFC 9113 §8.2.1).
            answer.headers.append((bytes[field.name].text.lowercased(), bytes[field.value].text))
        }
        if known.count >= Self.maximumCount { known = [:] }
        known[key] = Known(generation: generation, answer: answer)
    }

    /// The space in the format of the config service.
    private static func space(of grant: Grant) -> String {
        grant.principal.environment.rawValue + ":" + grant.principal.appID
    }
}
