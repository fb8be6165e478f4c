extension String {
    /// The text, or so much of it as fits, and how much is missing.
    ///
    /// Counted in bytes of UTF-8: one character may be any number of them.
    package func bounded(_ bytes: Int) -> String {
        let all = utf8.count
        guard all > bytes else { return self }
        var place = utf8.index(utf8.startIndex, offsetBy: bytes)
        while place.samePosition(in: unicodeScalars) == nil { place = utf8.index(before: place) }
        return String(self[..<place]) + "… (\(all - utf8[..<place].count) more bytes)"
    }
}
