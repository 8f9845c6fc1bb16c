import Foundation
import Hummingbird
import MartletHTTP

extension ServiceContext {
    /// A path parameter with its percent-encoding removed, which the router leaves in place. Empty if the result is not
    /// valid text or contains a NUL, which PostgreSQL cannot store.
    func component(_ name: String) -> String {
        guard let text = parameters.get(name)?.removingPercentEncoding, !text.utf8.contains(0) else { return "" }
        return text
    }
}
