import Foundation
import Hummingbird
import MartletHTTP

extension ServiceContext {
    /// A part of the path without its percent-encoding, which the router leaves as it is; empty when that is no text, or none that PostgreSQL has.
    func component(_ name: String) -> String {
        guard let text = parameters.get(name)?.removingPercentEncoding, !text.utf8.contains(0) else { return "" }
        return text
    }
}
