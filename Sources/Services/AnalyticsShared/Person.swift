import Foundation
import MartletCore
package import MartletPostgres

/// The person an event belongs to: 64 bits of a digest of the id. The same id gives the same number within a space, and
/// a different one in every other space.
///
/// The number of a random id cannot be traced back to the id. The number of a guessable id, such as a user's, can.
package enum Person {
    package static let nobody: Int64 = 0

    /// A person with an account, identified by `userId`.
    package static func account(_ userID: String, in space: Space) -> Int64 {
        digest("account", space, UUID(uuidString: userID).map { $0.uuidString.lowercased() } ?? userID)
    }

    /// The user of a device, identified by `anonymousId`.
    package static func device(_ anonymousID: String, in space: Space) -> Int64 { digest("device", space, anonymousID) }

    /// A person for one day, for visitors who send no id or must not be recognized on another day.
    package static func visitor(_ who: String, salt: [UInt8], in space: Space) -> Int64 {
        digest("visitor", space, Hexadecimal.text(salt) + "\u{0}" + who)
    }

    /// The key by which a repeated message is recognized.
    package static func key(ofMessage id: String, in space: Space) -> Int64 { digest("message", space, id) }

    private static func digest(_ kind: String, _ space: Space, _ text: String) -> Int64 {
        let number = Credential.digest(of: "\(kind)\u{0}\(space.id)\u{0}\(text)").prefix(8).reduce(UInt64(0)) {
            $0 << 8 | UInt64($1)
        }
        return number == 0 ? 1 : Int64(bitPattern: number)
    }
}
