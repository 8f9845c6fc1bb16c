import Foundation
import MartletCore
import MartletPostgres

/// Whose an event is: 64 bits of a digest of who it says, the same for the same id in a space, and another in every
/// other space.
///
/// Of an id that an app made up nobody gets from the number to the id. Of a user's id one can, as with any digest of
/// what can be guessed.
enum Person {
    static let nobody: Int64 = 0

    /// Somebody with an account, by the id that the app gives: `userId`.
    static func account(_ userID: String, in space: Space) -> Int64 {
        digest("account", space, UUID(uuidString: userID).map { $0.uuidString.lowercased() } ?? userID)
    }

    /// Whoever uses a device: `anonymousId`.
    static func device(_ anonymousID: String, in space: Space) -> Int64 { digest("device", space, anonymousID) }

    /// Somebody for a day, of whom nothing is known but where they come from, or nothing else shall be.
    static func visitor(_ who: String, salt: [UInt8], in space: Space) -> Int64 {
        digest("visitor", space, Hexadecimal.text(salt) + "\u{0}" + who)
    }

    /// By which an event is found that comes twice.
    static func key(ofMessage id: String, in space: Space) -> Int64 { digest("message", space, id) }

    private static func digest(_ kind: String, _ space: Space, _ text: String) -> Int64 {
        let number = Credential.digest(of: "\(kind)\u{0}\(space.id)\u{0}\(text)").prefix(8).reduce(UInt64(0)) {
            $0 << 8 | UInt64($1)
        }
        return number == 0 ? 1 : Int64(bitPattern: number)
    }
}
