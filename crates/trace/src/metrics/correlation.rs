//! Pearson's correlation coefficient.

/// Over pairs of values; none for fewer than three, and where either does not vary.
pub fn pearson(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let sums = points.iter().map(|p| (p.0 - mx, p.1 - my)).fold([0.0; 3], |s, (x, y)| [s[0] + x * x, s[1] + y * y, s[2] + x * y]);
    let scale = (sums[0] * sums[1]).sqrt();
    (points.len() > 2 && scale > 0.0).then(|| sums[2] / scale)
}
